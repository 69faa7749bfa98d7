import type { Application } from 'express'

/** The outermost app of those that an app is mounted in; the app itself where it is not mounted. */
export function rootApp(app: Application): Application {
  let root = app as Application & { parent?: Application }
  while (root.parent !== undefined) root = root.parent
  return root
}

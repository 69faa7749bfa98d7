import type { Application } from 'express'

/** The outermost app, where apps are mounted in apps: what it holds is everybody's. */
export function rootApp(app: Application): Application {
  let root = app as Application & { parent?: Application }
  while (root.parent !== undefined) root = root.parent
  return root
}

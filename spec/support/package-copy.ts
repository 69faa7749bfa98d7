import { createRequire } from 'node:module'
import type * as tollgate from '../../lib'

const load = createRequire(__filename)

/** Loads another copy of a module of the package, as package managers, reloads and test runners do. */
export function reloaded(module: string): unknown {
  for (const path of Object.keys(load.cache)) if (/[/\\]lib[/\\]/.test(path)) delete load.cache[path]
  return load(`../../lib/${module}`)
}

/** Loads another copy of the package. It says again what the first copy has said once. */
export function packageCopy(): typeof tollgate {
  return reloaded('index') as typeof tollgate
}

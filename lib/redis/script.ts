import { createHash } from 'node:crypto'

/** A Lua script and its SHA-1 hash, by which Redis caches it. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** Creates a script from its text. */
export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

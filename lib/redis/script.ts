import { createHash } from 'node:crypto'

/** A Lua script, and the hash by which Redis knows it. */
export interface Script {
  readonly text: string
  readonly sha: string
}

/** Makes a script of its text. */
export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Recordings, corpora and the protocol study lie beside the project; a clone elsewhere does not have them. */
const folder = join(__dirname, '..', '..', '..', 'shared')

/** For `it(name, { skip: missing('recordings') }, …)`: why the spec cannot run, or false where it can. */
export function missing(part: string): string | false {
  return existsSync(join(folder, part)) ? false : `../shared/${part} is not beside this project`
}

export function sharedPath(part: string): string {
  return join(folder, part)
}

export function sharedJson(part: string): unknown {
  return JSON.parse(readFileSync(join(folder, part), 'utf8'))
}

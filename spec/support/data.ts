import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The parsed content of a file below spec/, such as `corpora/oauth-cases.json`; spec/corpora/README.md lists them. */
export function readData(file: string): unknown {
  return JSON.parse(readFileSync(join('spec', file), 'utf8'))
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The figures of a row of docs/security.md for requests of so many seconds. */
export function promised(row: string, seconds: string) {
  const docs = readFileSync(join(process.cwd(), 'docs/security.md'), 'utf8')
  const [, , first = '', average = ''] =
    docs
      .split('\n')
      .find((line) => line.startsWith(`| ${row} `))
      ?.split('|') ?? []
  const of = (cell: string) => Number(cell.split(' / ')[['2', '18', '60'].indexOf(seconds)])
  return { first: of(first), average: of(average) }
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The rows of docs/security.md's table of what a user can take. */
export function promisedRows(): string[] {
  return [...table().keys()]
}

/** The figures of a row for requests of so many seconds. */
export function promised(row: string, seconds: string) {
  const [first = '', average = ''] = table().get(row) ?? []
  const of = (cell: string) => Number(cell.split(' / ')[['2', '18', '60'].indexOf(seconds)])
  return { first: of(first), average: of(average) }
}

function table(): Map<string, string[]> {
  const docs = readFileSync(join(process.cwd(), 'docs/security.md'), 'utf8').split('\n')
  const head = docs.findIndex((line) => line.startsWith('| Attack '))
  const body = docs.slice(head + 2)
  const rows = body.slice(0, body.indexOf('')).map((line) => line.split('|').map((cell) => cell.trim()))
  return new Map(rows.map(([, row = '', ...cells]) => [row, cells]))
}

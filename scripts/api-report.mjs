// Writes what the package declares to the public, without comments, into etc/, so that a change of it shows in review. API
// Extractor wants one entry, and the entries here share their declarations. --check fails where etc/ is out of date. Reads dist/, so build first.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
const etc = join(root, 'etc')
const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed })

const reports = new Map()
for (const file of readdirSync(join(root, 'dist'), { recursive: true }).map(String).sort()) {
  if (!file.endsWith('.d.ts')) continue
  const text = readFileSync(join(root, 'dist', file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, ts.ScriptKind.TS)
  const name = file
    .replace(/\.d\.ts$/, '')
    .replace(/\/index$/, '')
    .replaceAll('/', '-')
  reports.set(`${name}.api.d.ts`, `// Written by npm run api-report. Do not edit.\n${printer.printFile(source)}`)
}

const there = existsSync(etc) ? readdirSync(etc).filter((file) => file.endsWith('.api.d.ts')) : []
const stale = [
  ...there.filter((file) => !reports.has(file)),
  ...[...reports].filter(([file, text]) => !there.includes(file) || read(file) !== text).map(([file]) => file),
]
if (process.argv.includes('--check')) {
  if (stale.length > 0) {
    console.error(
      `The public face has changed: run npm run api-report, look at git diff etc docs, commit both: ${stale.join(', ')}`,
    )
    process.exit(1)
  }
} else {
  rmSync(etc, { recursive: true, force: true })
  mkdirSync(etc)
  for (const [file, text] of reports) writeFileSync(join(etc, file), text)
}
console.log(`api-report: ${stale.length === 0 ? 'etc/ is as it was' : `changed in etc/: ${stale.join(', ')}`}`)

function read(file) {
  return readFileSync(join(etc, file), 'utf8')
}

// Writes what the package declares to the public, without comments, into etc/, so that a change of it shows in review. API
// Extractor wants one entry, and the entries here share their declarations. --check fails where etc/ is out of date, or the
// root has more types than a reader can look through. Reads dist/, so build first.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
const etc = join(root, 'etc')
/** A type stands at the root if an app has to name it; the others are found through the signatures that show them. */
const MOST_ROOT_TYPES = 50
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
const types = rootTypes()
if (types.length > MOST_ROOT_TYPES) {
  console.error(`The root has ${types.length} types, and at most ${MOST_ROOT_TYPES} may be: ${types.join(', ')}`)
  process.exit(1)
}
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

/** Names that the root exports for types alone. */
function rootTypes() {
  const text = readFileSync(join(root, 'dist/index.d.ts'), 'utf8')
  const { statements } = ts.createSourceFile('index.d.ts', text, ts.ScriptTarget.Latest, false, ts.ScriptKind.TS)
  const named = statements.flatMap(({ exportClause }) => exportClause?.elements ?? [])
  const values = createRequire(import.meta.url)('../dist/index.js')
  return named.map(({ name }) => name.text).filter((name) => !(name in values))
}

function read(file) {
  return readFileSync(join(etc, file), 'utf8')
}

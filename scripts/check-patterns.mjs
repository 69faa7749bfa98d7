// Checks with recheck that no pattern of lib/ takes more than linear time for any text. .ci/run code runs it.
// A pattern with a sticky flag is tried at one place only, so it is checked as if it began with ^.
import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
process.env.RECHECK_BACKEND = 'pure'
const { checkSync } = createRequire(join(root, '.ci/package.json'))('recheck')
const LINEAR = ['safe', 'linear']
const results = new Map() // several files may have one pattern
let count = 0
let failed = 0

for (const name of readdirSync(join(root, 'lib'), { recursive: true }).map(String).sort()) {
  if (!name.endsWith('.ts')) continue
  const file = ts.createSourceFile(name, readFileSync(join(root, 'lib', name), 'utf8'), ts.ScriptTarget.Latest)
  visit(file, file)
}
console.log(`${count} patterns, ${failed} of them not linear`)
process.exit(failed > 0 ? 1 : 0)

function visit(node, file) {
  if (ts.isRegularExpressionLiteral(node)) check(node, file)
  ts.forEachChild(node, (child) => visit(child, file))
}

function check(node, file) {
  const end = node.text.lastIndexOf('/')
  const [source, flags] = [node.text.slice(1, end), node.text.slice(end + 1)]
  const anchored = flags.includes('y') ? `^(?:${source})` : source
  const key = `/${anchored}/${flags}`
  if (!results.has(key)) results.set(key, checkSync(anchored, flags.replace('y', ''), { timeout: 60_000 }))
  const { status, complexity, error } = results.get(key)
  count++
  if (status === 'safe' || LINEAR.includes(complexity?.type)) return
  failed++
  const { line } = file.getLineAndCharacterOfPosition(node.getStart(file))
  console.error(`lib/${file.fileName}:${line + 1} ${node.text}: ${complexity?.summary ?? status} ${error?.kind ?? ''}`)
}

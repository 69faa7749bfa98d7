/**
 * Fails where files of lib/ import each other in a circle, imports of types included: ESLint's rule leaves those out. Who
 * reads one file of a circle has to read all of it.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

const files = readdirSync('lib', { recursive: true }).filter((file) => file.endsWith('.ts'))
const imports = new Map(files.map((file) => [file, importsOf(file)]))
const done = new Set()
const circles = files.flatMap((file) => circlesFrom([file]))
for (const circle of circles) console.error(`lib/ has a circle of imports: ${circle.join(' → ')}`)
if (circles.length > 0) process.exitCode = 1

function importsOf(file) {
  const named = readFileSync(join('lib', file), 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']*)'/g)
  const paths = [...named].map(([, name]) => join(dirname(file), name))
  return paths.map((path) => [`${path}.ts`, join(path, 'index.ts')].find((each) => files.includes(each)))
}

/** @param way the files that lead to the last one, each of which imports the next */
function circlesFrom(way) {
  const file = way.at(-1)
  if (way.indexOf(file) < way.length - 1) return [way.slice(way.indexOf(file))]
  if (done.has(file)) return []
  const found = imports.get(file).flatMap((next) => (next === undefined ? [] : circlesFrom([...way, next])))
  done.add(file)
  return found
}

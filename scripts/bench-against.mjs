// npm run bench:against -- REF [--node 24] [--rounds N]: what an admission from memory costs in this working tree and in
// another commit, on the same Node. A process of each works a slice at a time, in turn with the other's. Both are compiled
// as the published package is.
import { execFileSync, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { needNode } from './node-versions.mjs'

const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const option = (name, other) => {
  const at = given.indexOf(name)
  return at === -1 ? other : (given.splice(at, 2)[1] ?? '')
}
const node = needNode(option('--node', process.versions.node.split('.')[0]))
const rounds = Number(option('--rounds', 60))
const [ref] = given
if (ref === undefined || given.length > 1 || !(Number.isInteger(rounds) && rounds > 0)) {
  console.error('npm run bench:against -- REF [--node 24] [--rounds N], of which REF names a commit')
  process.exit(1)
}

const commit = git('rev-parse', '--short', `${ref}^{commit}`).toString().trim()
const entries = [
  built(commit, (to) => untar(git('archive', commit, 'lib'), to)),
  built('here', (to) => cpSync(join(root, 'lib'), join(to, 'lib'), { recursive: true })),
]
const LOADS = ['bare', 'one user', '10,000 users']
const WARMING = 5
const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
console.log(
  `Node ${version}, ${rounds} slices in turn; processor time of a request in µs, where others disturbed it least:`,
)
let bare // there is no throttle in it: what is between the two is the error
for (const load of LOADS) {
  const pair = entries.map((entry) => fork(join(root, 'bench/admission-cost.mjs'), [load, entry], { execPath: node }))
  const us = [[], []]
  for (let round = -WARMING; round < rounds; round++) {
    for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const child = pair[i]
      child.send('')
      const [took] = await once(child, 'message')
      if (round >= 0) us[i].push(took)
    }
  }
  for (const child of pair) child.kill()
  const [then, now] = us.map(undisturbed)
  console.log(`${load}: ${then.toFixed(2)} in ${commit}, ${now.toFixed(2)} here: ${(now / then).toFixed(3)} of it`)
  if (load === 'bare') bare = [then, now]
  else console.log(`  the admission alone: ${(then - bare[0]).toFixed(2)} and ${(now - bare[1]).toFixed(2)}`)
}

/** Compiles the lib/ that `fetch` puts into a folder of its own, and says where its entry is. */
function built(name, fetch) {
  const folder = join(root, '.cache/against', name)
  const [source, dist] = [join(folder, 'source'), join(folder, 'dist')]
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(source, { recursive: true })
  fetch(source)
  const compilerOptions = { target: 'es2023', module: ts.ModuleKind.CommonJS, esModuleInterop: true }
  for (const file of readdirSync(join(source, 'lib'), { recursive: true })) {
    if (!file.endsWith('.ts')) continue
    const { outputText } = ts.transpileModule(readFileSync(join(source, 'lib', file), 'utf8'), { compilerOptions })
    const out = join(dist, file.replace(/ts$/, 'js'))
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, outputText)
  }
  return join(dist, 'index.js')
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, maxBuffer: 2 ** 28 })
}

function untar(tar, to) {
  execFileSync('tar', ['-x'], { cwd: to, input: tar })
}

/** What one slice in ten falls short of: the least would be luck, and half of them may have been disturbed. */
function undisturbed(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 10)]
}

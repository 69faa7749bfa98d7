// npm run bench:against -- REF [--node 24] [--rounds N]: what an admission from memory costs in this working tree and in
// another commit, in turn and on the same Node. Both are compiled as the published package is.
import { execFileSync, spawnSync } from 'node:child_process'
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
const rounds = Number(option('--rounds', 10))
const [ref] = given
if (ref === undefined || given.length > 1 || !(Number.isInteger(rounds) && rounds > 0)) {
  console.error('npm run bench:against -- REF [--node 24] [--rounds N], of which REF names a commit')
  process.exit(1)
}

const commit = git('rev-parse', '--short', `${ref}^{commit}`).toString().trim()
const sides = [
  { name: commit, entry: built(commit, (to) => untar(git('archive', commit, 'lib'), to)), us: {} },
  {
    name: 'here',
    entry: built('here', (to) => cpSync(join(root, 'lib'), join(to, 'lib'), { recursive: true })),
    us: {},
  },
]
const LOADS = ['bare', 'one user', '10,000 users']
for (let round = 0; round < rounds; round++) {
  for (const load of LOADS) {
    for (const { entry, us } of round % 2 === 0 ? sides : [...sides].reverse()) {
      const args = [join(root, 'bench/admission-cost.mjs'), load, entry]
      const { stdout, status } = spawnSync(node, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      if (status !== 0) process.exit(1)
      ;(us[load] ??= []).push(Number(stdout))
    }
  }
}

const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
console.log(`Node ${version}, ${rounds} rounds in turn; processor time of a request in µs, medians:`)
for (const load of LOADS) told(load, ({ us }) => median(us[load]))
const bare = median(sides.flatMap(({ us }) => us.bare)) // there is no throttle in it, and so no difference
for (const load of LOADS.slice(1)) told(`the admission alone, ${load}`, ({ us }) => median(us[load]) - bare)

function told(what, figure) {
  const [then, now] = sides.map(figure)
  console.log(`${what}: ${then.toFixed(2)} in ${commit}, ${now.toFixed(2)} here: ${(now / then).toFixed(2)} of it`)
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

function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

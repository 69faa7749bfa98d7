// npm run bench:against -- REF [--pairs N]: what an admission from memory costs in this working tree and in
// another commit. A process of each works a slice at a time, in turn with the other's; some pairs of
// processes one after the other, since two of the very same build differ by some percent, as their memory lies. Both are
// compiled as the published package is.
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
const given = process.argv.slice(2)
const option = (name, other) => {
  const at = given.indexOf(name)
  return at === -1 ? other : (given.splice(at, 2)[1] ?? '')
}
const pairs = Number(option('--pairs', 12))
const [ref] = given
if (ref === undefined || given.length > 1 || !(Number.isInteger(pairs) && pairs > 0)) {
  console.error('npm run bench:against -- REF [--pairs N], of which REF names a commit')
  process.exit(1)
}

const commit = git('rev-parse', '--short', `${ref}^{commit}`).toString().trim()
const entries = [
  built(commit, (to) => untar(git('archive', commit, 'lib'), to)),
  built('here', (to) => cpSync(join(root, 'lib'), join(to, 'lib'), { recursive: true })),
]
const LOADS = ['bare', 'one user', '10,000 users']
const [WARMING, SLICES] = [5, 24]
console.log(
  `Node ${process.version}, ${pairs} pairs of processes; processor time of a request in µs. What bare is off 1 is the error:`,
)
let bare // there is no throttle in it
for (const load of LOADS) {
  const found = []
  for (let i = 0; i < pairs; i++) found.push(await compared(load, i % 2 === 1))
  const [then, now] = [0, 1].map((side) =>
    at(
      found.map((us) => us[side]),
      1 / 2,
    ),
  )
  const ratios = found.map(([before, after]) => after / before)
  const [low, ratio, high] = [1 / 4, 1 / 2, 3 / 4].map((part) => at(ratios, part).toFixed(3))
  console.log(`${load}: ${then.toFixed(2)} in ${commit}, ${now.toFixed(2)} here: ${ratio} of it (${low} to ${high})`)
  if (load === 'bare') bare = [then, now]
  else console.log(`  the admission alone: ${(then - bare[0]).toFixed(2)} and ${(now - bare[1]).toFixed(2)}`)
}

/** What a request costs in a process of each build: a slice in ten falls short of it, as others may have disturbed half. */
async function compared(load, isHereFirst) {
  const order = isHereFirst ? [1, 0] : [0, 1]
  const [children, us] = [[], [[], []]]
  for (const i of order) {
    children[i] = fork(join(root, 'bench/admission-cost.mjs'), [load, entries[i]])
  }
  for (let slice = -WARMING; slice < SLICES; slice++) {
    for (const i of slice % 2 === 0 ? order : order.toReversed()) {
      children[i].send('')
      const [took] = await once(children[i], 'message')
      if (slice >= 0) us[i].push(took)
    }
  }
  for (const child of children) child.kill()
  return us.map((each) => at(each, 1 / 10))
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

/** What such a part of the values falls short of. */
function at(values, part) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)]
}

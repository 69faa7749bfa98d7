// Runs spec/chaos in full, and the simulator over thousands of seeds; prints the tables, whatever fails.
//   npm run chaos [-- part-of-a-name...]   one file after another, each in a process of its own
//   npm run chaos -- --write               and writes the tables into docs/RELIABILITY.md, with what failed
//   npm run chaos -- --busy --write        beside a busy loop for each processor; writes one line
//   npm run chaos -- burst --write         and writes the table of bursts alone
//   CONSERVATION=1000000 npm run chaos -- windows        so many requests over windows; 100,000 without
//   TIMES=2 npm run chaos -- burst                       each burst so often; 20 without
//   npm run valkey -- run chaos -- --write               over another server (npm run redis8); writes one line
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { needFaketime, needRedis } from './services.mjs'
import { transpile } from './typescript.cjs'

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2)
const write = args.includes('--write')
const busy = args.includes('--busy')
const wanted = args.filter((arg) => arg !== '--write' && arg !== '--busy')
if (wanted.some((arg) => arg.startsWith('-'))) fail(`unknown: ${wanted.join(' ')}`)
const whole = wanted.length === 0
if (write && !whole && wanted.join() !== 'burst')
  fail('--write writes what the whole run came to, or burst; leave other names out')
const files = readdirSync(join(root, 'spec/chaos'))
  .filter((f) => /\.(spec|chaos)\.ts$/.test(f))
  .map((f) => join('spec/chaos', f))
  .concat(
    ['simulation', 'simulation-faults', 'simulation-processes', 'simulation-mutants'].map(
      (f) => `spec/throttle/window/${f}.spec.ts`,
    ),
  )
  .filter((f) => wanted.length === 0 || wanted.some((w) => f.includes(w)))
  .sort()
if (files.length === 0) fail(`no file matches: ${wanted.join(' ')}`)
const redis = needRedis()
const needed = files.some((f) => f.includes('clocks'))
const env = {
  ...{ ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli },
  SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? '2000',
  ...{ CHAOS: 'full', CHAOS_TABLE: join(root, '.cache/chaos.jsonl'), ...(needed && { LIBFAKETIME: needFaketime() }) },
}
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(env.CHAOS_TABLE, { force: true })
const loops = busy ? availableParallelism() : 0
for (let i = 0; i < loops; i++) spawn(process.execPath, ['scripts/busy-loop.mjs'], { cwd: root, stdio: 'ignore' })
const beside = busy ? `beside ${loops} busy loops` : 'quiet'
await transpile()
const begun = performance.now()
const failed = []
const skipped = []
for (const file of files) {
  const from = performance.now()
  const tap = join(root, '.cache/chaos.tap')
  const reporters = ['spec', 'stdout', 'tap', tap].map(
    (value, i) => `--test-reporter${i % 2 === 0 ? '' : '-destination'}=${value}`,
  )
  const { status } = spawnSync(
    process.execPath,
    ['--require', './scripts/typescript.cjs', '--test', ...reporters, '--test-timeout=3600000', file],
    { cwd: root, stdio: 'inherit', env },
  )
  console.log(`${file}: ${Math.round((performance.now() - from) / 1_000)} s, ${status === 0 ? 'passed' : 'FAILED'}\n`)
  const told = readFileSync(tap, 'utf8')
  if (status !== 0) failed.push(...failures(file, told))
  for (const [, title, why] of told.matchAll(/^ *ok \d+ - (.*) # SKIP (.*)$/gm)) skipped.push({ title, why })
}

const ms = (n) => (n == null ? '–' : n === 0 ? '0' : n.toFixed(n < 10 ? 1 : 0))
const share = (n) => (n === null ? '–' : n.toFixed(2)) // nothing to take the mean of
const rows = existsSync(env.CHAOS_TABLE) ? readFileSync(env.CHAOS_TABLE, 'utf8').trim().split('\n').map(JSON.parse) : []
const name = /valkey/.test(redis.server) ? 'valkey-server' : 'redis-server'
const machine = `${name} ${redis.version}, Node ${process.versions.node}, ${cpus().length} processors`
const minutes = Math.round((performance.now() - begun) / 60_000)
const date = new Date().toISOString().slice(0, 10)
/** The whole tables are of the usual server on a quiet machine; each other run has a line. */
const isUsual = name === 'redis-server' && redis.version.startsWith('7.') && !busy
const head = [
  `\`${['npm run chaos', ...(args.length > 0 ? ['--'] : []), ...args].join(' ')}\` on ${date}: ${machine}, ${beside}, ${minutes} minutes, ${failed.length === 0 ? 'nothing failed' : `${failed.length} failed`}. Times are milliseconds.`,
  ...listed('Failed', failed),
  ...listed(
    'Not made',
    skipped.map(({ title, why }) => `${title}: ${why}`),
  ),
]
const faults = [
  ...head,
  ...markdown(
    ['Fault', 'Requests/s', 'Requests', 'Lost', 'Doubled', 'Longest wait', '999 of 1,000', 'Stall', 'Right again'],
    rows
      .filter((r) => 'fault' in r)
      .map((r) => [
        ...[r.fault, Math.round(r.load), r.requests],
        ...[r.lostMs, r.doubledMs, r.longestMs, r.p999Ms, r.stallMs, r.recoveredMs].map(ms),
      ]),
  ),
  ...markdown(
    ['What', 'Measured', 'Bound'],
    rows.filter((r) => 'what' in r).map((r) => [r.what, r.figure, r.bound]),
  ),
].join('\n')
const bursts = [
  ...head,
  '',
  'Bursts over eight processes; work admitted as a share of the budget, by what the requests were to take. Every one is judged; none is made again. _Worked_ is the mean of what their handlers really took, where processes knew the prices: 0.90 at least.',
  ...markdown(
    ['Burst', 'Run', 'Mean', 'Least', 'Most', 'Bound', 'Worked'],
    rows
      .filter((r) => 'burst' in r)
      .map((r) => [r.burst, r.run, ...[r.mean, r.least, r.most, r.bound, r.worked].map(share)]),
  ),
].join('\n')
console.log(`\n${[...(whole || !rows.some((r) => 'burst' in r) ? [faults] : []), bursts].join('\n\n')}`)

if (write) {
  const page = join(root, 'docs/RELIABILITY.md')
  let text = readFileSync(page, 'utf8')
  const marksOf = (what) => [`<!-- ${what}, written by npm run chaos -->`, `<!-- end of ${what} -->`]
  for (const what of ['bursts', 'runs']) {
    if (!text.includes(marksOf(what)[0]))
      text = text.replace('<!-- end -->', ['<!-- end -->', ...marksOf(what)].join('\n\n'))
  }
  if (whole)
    text = between(text, ...marksOf('runs'), runs(text.split(marksOf('runs')[0])[1].split(marksOf('runs')[1])[0]))
  if (whole && isUsual) text = between(text, '<!-- written by npm run chaos -->', '<!-- end -->', faults)
  if (isUsual) text = between(text, ...marksOf('bursts'), bursts)
  writeFileSync(page, text)
  spawnSync(process.execPath, ['node_modules/prettier/bin/prettier.cjs', '--write', page], { cwd: root })
  console.log('written into docs/RELIABILITY.md')
}
process.exit(failed.length === 0 ? 0 : 1)

/** The page with this text between two of its lines. */
function between(page, begin, end, text) {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) fail(`docs/RELIABILITY.md has no ${begin} … ${end}`)
  return `${page.slice(0, from)}${begin}\n\n${text}\n${page.slice(to)}`
}

/** A line for each whole run, the newest of each server and condition. @param before what stands there */
function runs(before) {
  const judged = rows.filter((r) => 'fault' in r)
  const most = (of) => ms(Math.max(0, ...judged.map((r) => r[of] ?? 0)))
  const sum = (of) => judged.reduce((total, r) => total + r[of], 0)
  const kind = [`${name} ${redis.version}`, beside]
  const figures = [judged.length, sum('requests'), ms(sum('lostMs')), ms(sum('doubledMs'))]
  const times = [most('p999Ms'), most('stallMs'), most('recoveredMs')]
  const missing =
    skipped.length > 0 ? `; ${skipped.length} not made: ${[...new Set(skipped.map(({ why }) => why))].join()}` : ''
  const what = `${failed.length === 0 ? 'nothing' : failed.join('; ')}${missing}`
  const kept = before
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (Server|---)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter((cells) => cells[0] !== kind[0] || cells[1] !== kind[1])
  const head = ['Server', 'Machine', 'Date', 'Minutes', 'Faults', 'Requests', 'Lost', 'Doubled']
  return [
    'Whole runs: all faults under load of one. _999 of 1,000_, _Stall_ and _Right again_ are the worst of them.',
    ...markdown(
      [...head, '999 of 1,000', 'Stall', 'Right again', 'Failed'],
      [...kept, [...kind, date, minutes, ...figures, ...times, what]].sort((a, b) => (a.join() < b.join() ? -1 : 1)),
    ),
  ].join('\n')
}

/** The titles of what failed: what has nothing that failed in it. A file that could not even be run is one. */
function failures(file, tap) {
  const titles = [...tap.matchAll(/^( *)not ok \d+ - (.*)$/gm)].map(([, indent, title]) => ({ indent, title }))
  const leaves = titles.filter(({ indent }, i) => i === 0 || indent.length >= titles[i - 1].indent.length)
  return (leaves.length > 0 ? leaves : [{ title: 'did not end' }]).map(({ title }) => `\`${file}\`: ${title}`)
}

function fail(why) {
  console.error(why)
  process.exit(1)
}

function listed(title, lines) {
  return lines.length === 0 ? [] : ['', `${title}:`, '', ...lines.map((line) => `- ${line}`), '']
}

function markdown(head, lines) {
  if (lines.length === 0) return ['', 'Not run.', '']
  const row = (cells) => `| ${cells.join(' | ')} |`
  return ['', row(head), row(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...lines.map(row), '']
}

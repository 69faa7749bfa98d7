// Runs spec/chaos in full, prints its tables, and writes them into docs/RELIABILITY.md where nothing failed.
//   npm run chaos [-- part-of-a-name]      a part is printed only
//   REDIS_SERVER=/path/to/valkey-server REDIS_CLI=/path/to/valkey-cli npm run chaos
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { needFaketime } from './faketime.mjs'
import { needRedis } from './redis.mjs'

const root = join(import.meta.dirname, '..')
const wanted = process.argv.slice(2)
const files = readdirSync(join(root, 'spec/chaos'))
  .filter((f) => /\.(spec|chaos)\.ts$/.test(f) && (wanted.length === 0 || wanted.some((w) => f.includes(w))))
  .sort()
  .map((f) => join('spec/chaos', f))
const redis = needRedis()
const LIBFAKETIME = needFaketime()
const table = join(root, '.cache/chaos.jsonl')
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(table, { force: true })
const begun = performance.now()
const env = { ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli }
const { status } = spawnSync(
  process.execPath,
  [
    '--require',
    'tsx/cjs',
    '--test',
    '--test-reporter=spec',
    '--test-concurrency=1',
    '--test-timeout=3600000',
    ...files,
  ],
  { cwd: root, stdio: 'inherit', env: { ...env, CHAOS: 'full', CHAOS_TABLE: table, LIBFAKETIME } },
)

const ms = (n) => (n === undefined ? '–' : n === 0 ? '0' : n.toFixed(n < 10 ? 1 : 0))
const share = (n) => n.toFixed(2)
const rows = existsSync(table) ? readFileSync(table, 'utf8').trim().split('\n').map(JSON.parse) : []
const name = /valkey/.test(redis.server) ? 'valkey-server' : 'redis-server'
const machine = `${name} ${redis.version}, Node ${process.versions.node}, ${cpus().length} processors`
const minutes = Math.round((performance.now() - begun) / 60_000)
const date = new Date().toISOString().slice(0, 10)
const text = [
  `\`npm run chaos\` on ${date}: ${machine}, ${minutes} minutes. Times are milliseconds.`,
  ...markdown(
    ['Fault', 'Requests/s', 'Requests', 'Lost', 'Doubled', 'Longest wait', '999 of 1,000', 'Stall', 'Right again'],
    rows
      .filter((r) => 'fault' in r)
      .map((r) => [
        ...[r.fault, Math.round(r.load), r.requests],
        ...[r.lostMs, r.doubledMs, r.longestMs, r.p999Ms, r.stallMs, r.recoveredMs].map(ms),
      ]),
  ),
  'Bursts over eight processes; work admitted as a share of the budget. Made again: because the machine stalled so long that a process did not hear Redis within its 70 ms.',
  ...markdown(
    ['Burst', 'Run', 'Judged', 'Mean', 'Least', 'Most', 'Made again', 'Most of those', 'Their longest stall'],
    rows
      .filter((r) => 'burst' in r)
      .map((r) => [
        ...[r.burst, r.run, r.judged, ...[r.mean, r.least, r.most].map(share)],
        ...[r.remade, share(r.remadeMost), ms(r.remadeStallMs)],
      ]),
  ),
  ...markdown(
    ['What', 'Measured', 'Bound'],
    rows.filter((r) => 'what' in r).map((r) => [r.what, r.figure, r.bound]),
  ),
].join('\n')
console.log(`\n${text}`)

if (status === 0 && wanted.length === 0) {
  const page = join(root, 'docs/RELIABILITY.md')
  const [begin, end] = ['<!-- written by npm run chaos -->', '<!-- end -->']
  const old = readFileSync(page, 'utf8')
  const [before] = old.split(begin)
  const after = old.slice(old.indexOf(end))
  writeFileSync(page, `${before}${begin}\n\n${text}\n${after}`)
  spawnSync(process.execPath, ['node_modules/prettier/bin/prettier.cjs', '--write', page], { cwd: root })
  console.log('written into docs/RELIABILITY.md')
}
process.exit(status ?? 1)

function markdown(head, lines) {
  const row = (cells) => `| ${cells.join(' | ')} |`
  return ['', row(head), row(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...lines.map(row), '']
}

// Runs spec/chaos in full and prints its table, as docs/RELIABILITY.md has it.
//   npm run chaos [-- part-of-a-name]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'

const root = join(import.meta.dirname, '..')
const wanted = process.argv.slice(2)
const files = readdirSync(join(root, 'spec/chaos'))
  .filter((f) => f.endsWith('.spec.ts') && (wanted.length === 0 || wanted.some((w) => f.includes(w))))
  .sort()
  .map((f) => join('spec/chaos', f))
const redis = needRedis()
const table = join(root, '.cache/chaos.jsonl')
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(table, { force: true })
const { status } = spawnSync(
  process.execPath,
  ['--import', 'tsx', '--test', '--test-reporter=spec', '--test-concurrency=1', '--test-timeout=3600000', ...files],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...redis.env,
      REDIS_SERVER: redis.server,
      REDIS_CLI: redis.cli,
      CHAOS: 'full',
      CHAOS_TABLE: table,
    },
  },
)

const ms = (n) => (n === undefined ? '–' : n === 0 ? '0' : n.toFixed(n < 10 ? 1 : 0))
const rows = existsSync(table) ? readFileSync(table, 'utf8').trim().split('\n').map(JSON.parse) : []
console.log(`\nredis-server ${redis.version}, Node ${process.versions.node}, times in milliseconds\n`)
console.log(
  '| fault | requests/s | requests | charges lost | charges doubled | longest wait | 999 of 1,000 | stall | right again |',
)
console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|')
for (const r of rows) {
  const cells = [r.lostMs, r.doubledMs, r.longestMs, r.p999Ms, r.stallMs, r.recoveredMs].map(ms)
  console.log(`| ${[r.fault, Math.round(r.load), r.requests, ...cells].join(' | ')} |`)
}
process.exit(status ?? 1)

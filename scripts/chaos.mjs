// Runs spec/chaos in full, and the simulator over thousands of seeds: each file in a process of its own. Prints what was
// measured as tables, whatever fails. docs/RELIABILITY.md names the bounds.
//   npm run chaos [-- part-of-a-name…] [--busy]      --busy: beside a busy loop for each processor
//   CONSERVATION=1000000 npm run chaos -- windows    so many requests over windows; 100,000 without
//   TIMES=2 npm run chaos -- burst                   each burst so often; 20 without
//   npm run valkey -- run chaos                      over another server (npm run redis8)
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { needFaketime, needRedis } from './services.mjs'
import { transpile } from './typescript.cjs'

const root = join(import.meta.dirname, '..')
const args = process.argv.slice(2)
const wanted = args.filter((arg) => arg !== '--busy')
const files = readdirSync(join(root, 'spec/chaos'))
  .filter((file) => /\.(spec|chaos)\.ts$/.test(file))
  .map((file) => join('spec/chaos', file))
  .concat('spec/throttle/simulation.spec.ts', 'spec/throttle/simulation-mutants.spec.ts')
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
if (files.length === 0) {
  console.error(`no file matches: ${wanted.join(' ')}`)
  process.exit(1)
}
const redis = needRedis()
const table = join(root, '.cache/chaos.jsonl')
const env = {
  ...{ ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli },
  SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? '2000',
  ...{ CHAOS: 'full', CHAOS_TABLE: table },
  ...(files.some((file) => file.includes('clocks')) && { LIBFAKETIME: needFaketime() }),
}
mkdirSync(join(root, '.cache'), { recursive: true })
rmSync(table, { force: true })
const loops = args.includes('--busy') ? availableParallelism() : 0
for (let i = 0; i < loops; i++) spawn(process.execPath, ['spec/support/busy-loop.mjs'], { cwd: root, stdio: 'ignore' })
await transpile()

const failed = files.filter((file) => {
  const flags = ['--require', './scripts/typescript.cjs', '--test', '--test-reporter=spec', '--test-timeout=3600000']
  return spawnSync(process.execPath, [...flags, file], { cwd: root, stdio: 'inherit', env }).status !== 0
})
const rows = existsSync(table) ? readFileSync(table, 'utf8').trim().split('\n').map(JSON.parse) : []
for (const kind of ['fault', 'burst', 'what']) console.table(rows.filter((row) => kind in row))
console.log(`${redis.server} ${redis.version}, Node ${process.version}, ${loops} busy loops`)
console.log(failed.length === 0 ? 'nothing failed' : `failed: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)

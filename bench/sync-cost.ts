// npm run bench:sync: what the throttle asks of Redis.
//   sync.lua    microseconds of one report by Redis's own count, by the processes that have a field in the record
//   commands    syncs a request, by the handler's time, users and processes; --beside DIR adds another build's `dist`
// Options: --lua, --commands (one of them alone), --beside DIR.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { type ThrottleStore, redisStore } from '../lib/index'
import { startRedis } from '../spec/support/redis'
import { reportFor } from '../spec/support/report'
import { TYPESCRIPT } from '../spec/support/typescript'
import { until } from '../spec/support/until'
import type { CommandsCount, CommandsLoad } from './commands-api'

const FIELDS = [1, 16, 64, 256]
const REPORTS = 2_000
const FOR_MS = 3_000
const PER_SECOND = 2_000

const row = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)

/** Microseconds that Redis spends in one call of a script. */
async function scriptUs(admin: Redis, run: () => Promise<void>): Promise<number> {
  await admin.config('RESETSTAT')
  await run()
  const [, calls = 0, us = 0] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(await admin.info('commandstats')) ?? []
  return Number(us) / Number(calls)
}

async function lua(admin: Redis, store: ThrottleStore): Promise<void> {
  row('fields', 'report, µs', 'question, granted, µs', 'question that counts all fields, µs', 'bytes')
  const server = store.serverOf('')
  await until(() => server.beat().catch(() => undefined))
  const starts = Date.now() * 1_000 - 10_000_000
  const terms = {
    number: 1,
    starts,
    ends: starts + 86_400_000_000,
    limit: 1e12,
    used: 123_456,
    held: 50_000,
    lasts: 1e9,
  }
  for (const fields of FIELDS) {
    const id = `fields-${fields}`
    let seq = 0
    const one = (more: object, process = `process-${seq % fields}`) =>
      server.report('bench', process, [reportFor({ id, ...terms, running: 1, seq: ++seq, ...more })])
    for (let i = 0; i < fields; i++) await one({}, `process-${i}`)
    const many = (more: object) => async () => {
      for (let i = 0; i < REPORTS; i++) await one(more)
    }
    const reports = await scriptUs(admin, many({}))
    const asks = { want: 20_000, count: 1, unit: 20_000 }
    const questions = await scriptUs(admin, many(asks))
    const bytes = Number(await admin.memory('USAGE', `tollgate:w3:{${id}}:1:bench`, 'SAMPLES', 0))
    const counting = await scriptUs(admin, async () => {
      for (let i = 0; i < 200; i++) {
        await admin.hdel(`tollgate:w3:{${id}}:1:bench`, 's')
        await one(asks)
      }
    })
    row(fields, reports.toFixed(1), questions.toFixed(1), counting.toFixed(1), bytes)
  }
}

async function commands(url: string, admin: Redis, builds: readonly string[]): Promise<void> {
  row('limit', 'scatter', 'users', 'processes', 'handler', ...builds.map((_, i) => (i === 0 ? 'here' : 'beside')))
  for (const [limitMs, scatter] of [
    [18_000, 1],
    [18_000, 3],
    [1_000, 1],
  ] as const)
    // prettier-ignore
    for (const users of [500, 20_000])
      for (const processes of [2, 8])
        for (const handlerMs of [0.2, 5, 20, 200]) {
          const counts: string[] = []
          for (const entry of builds) {
            await admin.flushall()
            const load = { entry, redis: url, users, perSecond: PER_SECOND / processes, handlerMs, scatter, limitMs }
            const all = await Promise.all(Array.from({ length: processes }, () => counted({ ...load, forMs: FOR_MS })))
            const sum = (of: keyof CommandsCount) => all.reduce((total, count) => total + count[of], 0)
            const refused = sum('refused') > 0 ? `, ${sum('refused')} refused` : ''
            const outage = sum('outages') > 0 ? ' (outage)' : ''
            counts.push(`${(sum('syncs') / sum('requests')).toFixed(2)}${refused}${outage}`)
          }
          row(limitMs, scatter, users, processes, `${handlerMs} ms`, ...counts)
        }
}

async function counted(load: CommandsLoad): Promise<CommandsCount> {
  const child: ChildProcess = fork(join(__dirname, 'commands-api.ts'), { execArgv: [...TYPESCRIPT] })
  child.send(load)
  const [count] = (await once(child, 'message')) as [CommandsCount]
  child.kill()
  return count
}

async function main(): Promise<void> {
  const options = { lua: { type: 'boolean' }, commands: { type: 'boolean' }, beside: { type: 'string' } } as const
  const chosen = parseArgs({ options }).values
  const redis = await startRedis()
  const url = `redis://127.0.0.1:${redis.port}`
  const admin = new Redis(url)
  const store = redisStore(url)
  if (!chosen.commands) await lua(admin, store)
  const builds = [join(__dirname, '../dist/index.js'), ...(chosen.beside ? [join(chosen.beside, 'index.js')] : [])]
  if (!chosen.lua) await commands(url, admin, builds)
  await store.close()
  admin.disconnect()
  await redis.stop()
}

void main()

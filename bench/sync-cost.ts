// npm run bench:sync: what the throttle asks of Redis.
//   sync.lua    microseconds of one report by Redis's own count, by the processes that have a field in the record
//   commands    syncs a request, by the handler's time, users and processes; --beside DIR adds another build's `dist`
//   regular     the same, by 10,000 users of whom each asks every 0.7 to 5 s
// Options: --lua, --commands, --regular (these alone), --beside DIR.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { redisStore } from '../lib/index'
import { startRedis } from '../spec/support/redis'
import { windowKey } from '../lib/throttle/redis/record'
import { type AccountStore, insideOf } from '../lib/throttle/store/store'
import { reportFor } from '../spec/throttle/redis/report'
import { TYPESCRIPT } from '../spec/support/typescript'
import { until } from '../spec/support/until'
import type { CommandsCount, CommandsLoad } from './commands-api'

const FIELDS = [1, 16, 64, 256]
const REPORTS = 2_000
const FOR_MS = 3_000
const PER_SECOND = 2_000
const REGULAR_USERS = 10_000
const FLAG = { type: 'boolean' } as const

const row = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)

/** Microseconds that Redis spends in one call of a script. */
async function scriptUs(admin: Redis, run: () => Promise<void>): Promise<number> {
  await admin.config('RESETSTAT')
  await run()
  const [, calls = 0, us = 0] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(await admin.info('commandstats')) ?? []
  return Number(us) / Number(calls)
}

async function lua(admin: Redis, store: AccountStore): Promise<void> {
  row('fields', 'report, µs', 'question, granted, µs', 'question that counts all fields, µs', 'bytes')
  const server = store.serverOf('')
  await until(() => server.beat().catch(() => undefined))
  const starts = Date.now() * 1_000 - 10_000_000
  const terms = {
    starts,
    ends: starts + 86_400_000_000,
    limit: 1e12,
    used: 123_456,
    held: 50_000,
    runsForUs: 1e9,
  }
  for (const fields of FIELDS) {
    const id = `fields-${fields}`
    let seq = 0
    const one = (more: object, process = `process-${seq % fields}`) =>
      server.report(process, [reportFor({ policy: 'bench', id, ...terms, running: 1, seq: ++seq, ...more })])
    for (let i = 0; i < fields; i++) await one({}, `process-${i}`)
    const many = (more: object) => async () => {
      for (let i = 0; i < REPORTS; i++) await one(more)
    }
    const reports = await scriptUs(admin, many({}))
    const asks = { neededUs: 20_000, count: 1, firstNeededUs: 20_000 }
    const questions = await scriptUs(admin, many(asks))
    const keyOf = (id: string) => windowKey('tollgate:', id, terms.ends - terms.starts, 'bench')
    const bytes = Number(await admin.memory('USAGE', keyOf(id), 'SAMPLES', 0))
    const alone = { neededUs: 2 * terms.limit, count: 1, firstNeededUs: 2 * terms.limit } // fits where nothing runs
    const counting = await scriptUs(admin, async () => {
      for (let i = 0; i < 200; i++) await one({ ...alone, running: 0 }, 'process-0')
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
            counts.push(await commandsOf(processes, { ...load, forMs: FOR_MS }))
          }
          row(limitMs, scatter, users, processes, `${handlerMs} ms`, ...counts)
        }
}

/** 10,000 users of whom each asks every 0.7 to 5 s: each at one process, or at any of them in turn. */
async function regular(url: string, admin: Redis, builds: readonly string[]): Promise<void> {
  row('users', 'processes', 'a user’s requests go to', ...builds.map((_, i) => (i === 0 ? 'here' : 'beside')))
  for (const [processes, isSpread] of [
    [1, false],
    [2, false],
    [2, true],
  ] as const) {
    const counts: string[] = []
    for (const entry of builds) {
      await admin.flushall()
      const [users, times] = isSpread ? [REGULAR_USERS, processes] : [REGULAR_USERS / processes, 1]
      const perSecond = [0.7 * times, 5 * times] as const
      const load = { entry, redis: url, users, perSecond, handlerMs: 20, scatter: 3, limitMs: 18_000, forMs: 30_000 }
      counts.push(await commandsOf(processes, load, !isSpread))
    }
    row(REGULAR_USERS, processes, isSpread ? 'all' : 'one', ...counts)
  }
}

/** Commands a request, over all processes. */
async function commandsOf(
  processes: number,
  load: Omit<CommandsLoad, 'firstUser'>,
  hasOwnUsers = false,
): Promise<string> {
  const all = await Promise.all(
    Array.from({ length: processes }, (_unused, n) =>
      counted({ ...load, firstUser: hasOwnUsers ? load.users * n : 0 }),
    ),
  )
  const sum = (of: keyof CommandsCount) => all.reduce((total, count) => total + count[of], 0)
  const refused = sum('refused') > 0 ? `, ${sum('refused')} refused` : ''
  const outage = sum('outages') > 0 ? ' (outage)' : ''
  return `${(sum('syncs') / sum('requests')).toFixed(2)}${refused}${outage}`
}

async function counted(load: CommandsLoad): Promise<CommandsCount> {
  const child: ChildProcess = fork(join(__dirname, 'commands-api.ts'), { execArgv: [...TYPESCRIPT] })
  child.send(load)
  const [count] = (await once(child, 'message')) as [CommandsCount]
  child.kill()
  return count
}

async function main(): Promise<void> {
  const options = { lua: FLAG, commands: FLAG, regular: FLAG, beside: { type: 'string' } } as const
  const { lua: isLua, commands: isCommands, regular: isRegular, beside } = parseArgs({ options }).values
  const isAll = !isLua && !isCommands && !isRegular
  const redis = await startRedis()
  const url = `redis://127.0.0.1:${redis.port}`
  const admin = new Redis(url)
  const store = redisStore(url)
  if (isAll || isLua) await lua(admin, insideOf(store))
  const builds = [join(__dirname, '../dist/index.js'), ...(beside ? [join(beside, 'index.js')] : [])]
  if (isAll || isCommands) await commands(url, admin, builds)
  if (isAll || isRegular) await regular(url, admin, builds)
  await store.close()
  admin.disconnect()
  await redis.stop()
}

void main()

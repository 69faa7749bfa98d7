import assert from 'node:assert/strict'
import { freemem } from 'node:os'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startRedis } from '../support/redis'
import { until } from '../support/until'
import { type Api, endedLogs, startApis } from './apis'
import { balance } from './balance'
import { Load } from './load'
import { workByUser } from './log'
import { LONG_WINDOW_MS, openWindowKey, totals } from './shared-total'
import { FULL, tell } from './table'

/** A process takes so much memory, in bytes. */
const PROCESS_BYTES = 120e6
/** Real processes, in full a hundred or as many as there is memory for. */
const PROCESSES = FULL ? Math.min(Number(process.env.FLEET ?? 100), Math.floor(freemem() / PROCESS_BYTES)) : 12
/** So many start at once: each takes a processor for a second. */
const AT_ONCE = 10
/** Requests that last so long, so many a second for each process, keep the subject busy in all of them. */
const REQUEST_MS = 400
const PER_PROCESS = 4
const MEASURED_MS = FULL ? 20_000 : 3_000
/** A process's syncs of a busy subject in a second: two in `maxStaleMs`. */
const SYNCS_PER_SECOND = 8

it(`${PROCESSES} processes with one hot subject charge it for all of its work, each by some eight syncs a second`, async (t) => {
  const redis = await startRedis()
  const admin = new Redis(redis.port)
  t.after(async () => {
    admin.disconnect()
    await redis.stop()
  })
  const apis: Api[] = []
  const options = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS }
  while (apis.length < PROCESSES) {
    const n = Math.min(AT_ONCE, PROCESSES - apis.length)
    const place = { redis: `redis://127.0.0.1:${redis.port}`, throttles: { shared: options }, watchesStalls: false }
    apis.push(...(await startApis(t, n, place)))
  }
  let asked = 0
  const load = new Load({
    perSecond: PROCESSES * PER_PROCESS,
    next: () => ({ api: apis[asked++ % PROCESSES] as Api, path: `/shared/work/${REQUEST_MS}`, user: 'hot' }),
  })
  t.after(() => load.stop())
  const fields = async () => (await admin.hkeys(openWindowKey('hot', 'shared'))).filter((f) => f.length > 1)
  await until(async () => (await fields()).length === PROCESSES)

  const [before, startedAt] = [await used(admin), performance.now()]
  await sleep(MEASURED_MS)
  const [after, seconds] = [await used(admin), (performance.now() - startedAt) / 1_000]
  const shots = await load.stop()
  assert.deepEqual([...new Set(shots.map(({ status }) => status))], [200])
  const scripts = (after.calls - before.calls) / seconds
  const each = scripts / PROCESSES - 1 // a heartbeat a second
  const share = (after.cpuSeconds - before.cpuSeconds) / seconds
  const us = (after.us - before.us) / (after.calls - before.calls)
  const { requests, workedMs, chargedMs, lostMs, doubledMs } = await balance(
    workByUser(await endedLogs(apis, (user) => user === 'hot')),
    totals(admin, 'shared'),
  )
  tell(t, {
    what: `${PROCESSES} real processes, one hot subject`,
    figure: `${Math.round(scripts)} scripts a second of ${us.toFixed(1)} µs: ${(share * 100).toFixed(1)} % of a processor of Redis; ${requests} requests: worked ${Math.round(workedMs)} ms, charged ${Math.round(chargedMs)} ms`,
    bound:
      'lost and doubled: nothing; no process syncs the subject more than 8 times a second, but where a request begins or ends',
  })
  assert.equal(requests, shots.length)
  assert.deepEqual([lostMs, doubledMs], [0, 0])
  assert.ok(each > SYNCS_PER_SECOND / 2 && each < SYNCS_PER_SECOND + 2 * PER_PROCESS, `${each} syncs a second each`)
})

/** What Redis has used so far: of a processor, and in scripts. */
async function used(admin: Redis): Promise<{ cpuSeconds: number; calls: number; us: number }> {
  const [cpu, stats] = [await admin.info('cpu'), await admin.info('commandstats')]
  const of = (kind: string) => Number(new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(cpu)?.[1])
  const [, calls, us] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(stats) ?? []
  return { cpuSeconds: of('sys') + of('user'), calls: Number(calls), us: Number(us) }
}

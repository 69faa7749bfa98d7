import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type TestContext, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { redisStore } from '../../lib/index'
import { nowUs, systemClock } from '../../lib/http/clock'
import { Ledger } from '../../lib/throttle/ledger'
import { StoreHealth } from '../../lib/throttle/sync/health'
import { startRedis } from '../support/redis'
import { until } from '../support/until'
import { LONG_WINDOW_MS } from './shared-total'
import { FULL, tell } from './table'

const SUBJECTS = FULL ? 60_000 : 6_000
const BUSY = 50
/** Charged at once, and then waited for: all together would be beyond the deadline. */
const AT_ONCE = 250
/** What docs/redis.md promises of each process. */
const PER_SECOND = 2_000
/** A heartbeat finds the loss within a second, and its answer must come. */
const NOTICED_MS = 1_200
/** After so long all of them rest. */
const RESTING_MS = 5_000
const SHARES = [0.5, 0.9, 1]

/** One process's window over a Redis, in which so many subjects rest that have spent time. */
async function restingSubjects(t: TestContext) {
  const redis = await startRedis()
  const admin = new Redis(redis.port)
  const health = StoreHealth.of(redisStore(`redis://127.0.0.1:${redis.port}`), systemClock)
  const terms = { windowUs: LONG_WINDOW_MS * 1_000, carryOver: false, grantAhead: true }
  const ledger = new Ledger('month', terms, systemClock, health.note('local'))
  const outages: unknown[] = []
  const heard = (told: unknown) => void outages.push(told)
  subscribe('express-tollgate:degraded', heard)
  let synced = 0
  const hearSynced = () => void synced++
  subscribe('express-tollgate:synced', hearSynced)
  t.after(async () => {
    unsubscribe('express-tollgate:degraded', heard)
    unsubscribe('express-tollgate:synced', hearSynced)
    await ledger.close()
    admin.disconnect()
    await redis.stop()
  })
  await health.ready()
  const records = async () => (await admin.dbsize()) - (await admin.keys('tollgate:[cl]*')).length
  for (let i = 0; i < SUBJECTS; i += AT_ONCE) {
    for (let k = i; k < i + AT_ONCE; k++) void ledger.charge(ledger.account(`rests-${k}`), 5_000_000)
    await until(async () => (await admin.dbsize()) >= i + AT_ONCE)
  }
  await until(async () => (await records()) === SUBJECTS)
  await sleep(RESTING_MS)
  return { admin, ledger, outages, synced: () => synced }
}

it(`says ${SUBJECTS} resting subjects again after a loss, ${PER_SECOND} a second, and busy ones first`, async (t) => {
  const { admin, ledger, outages, synced } = await restingSubjects(t)
  const busy = Array.from({ length: BUSY }, (_, i) => `busy-${i}`)
  const work = () => busy.forEach((subject) => void ledger.charge(ledger.account(subject), 1_000))
  const working = setInterval(work, 50)
  t.after(() => clearInterval(working))
  await until(async () => (await admin.dbsize()) >= SUBJECTS + BUSY)

  const syncedBefore = synced()
  await admin.flushall()
  const lostAt = nowUs(systemClock)
  const secondsSince = () => (nowUs(systemClock) - lostAt) / 1e6
  const took: number[] = []
  for (const share of SHARES) {
    await until(async () => (await admin.dbsize()) >= SUBJECTS * share + BUSY)
    took.push(secondsSince())
  }
  const perSecond = SUBJECTS / ((took.at(-1) as number) - NOTICED_MS / 1_000)
  tell(t, {
    what: `${SUBJECTS} resting subjects of one process, all data lost`,
    figure: `said again after ${took.map((s, i) => `${s.toFixed(1)} s ${(SHARES[i] as number) * 100} %`).join(', ')}`,
    bound: `${PER_SECOND} a second from 1.2 s after the loss on, no outage announced`,
  })
  if (FULL) assert.ok(perSecond < 0 || perSecond >= PER_SECOND, `${perSecond} a second`)
  const syncs = synced() - syncedBefore
  assert.ok(syncs < 1.2 * SUBJECTS + 20 * BUSY * secondsSince(), `each once: ${syncs}`)
  if (FULL) assert.deepEqual(outages, [])
})

// A record that Redis evicts for another tenant while nobody asks is written again; while requests run: simulation, evicted.
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { redisStore } from '../../../lib/index'
import { LONG_WINDOW_MS, sharedTotalMs } from '../../chaos/shared-total'
import { startRedis } from '../../support/redis'
import { throttledApp } from '../../support/throttled-app'
import { assertIs, below, until } from '../../support/until'

/** All is at rest: nothing is due, and the records are older than the canary, which is written each second. */
const RESTING_MS = 3_000
/** Looks at hundreds of keys would keep the machine busy by themselves. */
const LOOK_MS = 100
/** On a busy machine servers miss deadlines, and what was lost is told when they answer again. */
const LONGEST_MS = 240_000
const OPTIONS = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS, name: 'month' }

/** An app over a Redis of these settings. */
async function api(t: TestContext, settings: readonly string[]) {
  const redis = await startRedis(...settings)
  const store = redisStore(`redis://127.0.0.1:${redis.port}`)
  const { ask } = await throttledApp(t, { ...OPTIONS, store })
  const admin = new Redis(redis.port)
  t.after(async () => {
    admin.disconnect()
    await redis.stop()
  })
  return { admin, charge: ask }
}

describe('redisStore() on a server that evicts', { concurrency: true }, () => {
  for (const policy of ['allkeys-lru', 'volatile-ttl'])
    it(`says again what ${policy} has thrown away for another tenant while nobody asked, with the next request`, async (t) => {
      const { admin, charge } = await api(t, ['--maxmemory', '64mb', '--maxmemory-policy', policy])
      const users = Array.from({ length: 200 }, (_, i) => `user-${i}`)
      await Promise.all(users.map((user, i) => charge(user, 1_000 + i)))
      const known = async () => {
        await sleep(LOOK_MS)
        const totals = await Promise.all(users.map((user) => sharedTotalMs(admin, user, 'month')))
        return totals.filter((ms, i) => ms >= 1_000 + i).length
      }
      await until(known, users.length, { ms: LONGEST_MS })
      const keys = await admin.keys('tollgate:w4:*')
      await sleep(RESTING_MS)
      const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
      await admin.config('SET', 'maxmemory', String(used + 200_000))
      for (let i = 0; (await admin.exists(...keys)) > keys.length / 2; i++) {
        assertIs(i, below(500), 'nothing was evicted')
        for (let k = 0; k < 20; k++) await admin.set(`co-tenant:${i}:${k}`, 'x'.repeat(2_000), 'EX', 7 * 86_400 * 9)
      }
      await admin.config('SET', 'maxmemory', '64mb')
      await Promise.all(users.map((user) => charge(user, 0))) // the process tells what it knows with the next request
      await until(known, users.length, { ms: LONGEST_MS })
    })
})

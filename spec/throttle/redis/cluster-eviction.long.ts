import assert from 'node:assert/strict'
import { type TestContext, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { redisStore } from '../../../lib/index'
import { LONG_WINDOW_MS, sharedTotalMs } from '../../chaos/shared-total'
import { startRedis } from '../../support/redis'
import { throttledApp } from '../../support/throttled-app'
import { until } from '../../support/until'

/** All is at rest: nothing is due, and the windows' keys are older than the canary, which is written each second. */
const RESTING_MS = 33_000
const USERS = Array.from({ length: 100 }, (_, i) => `user-${i}`)

/** A Cluster of one master, which keeps all slots and evicts. */
async function startMaster(t: TestContext) {
  const redis = await startRedis(
    ...['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
    ...['--maxmemory', '64mb', '--maxmemory-policy', 'volatile-ttl'],
  )
  const admin = new Redis(redis.port)
  t.after(async () => {
    admin.disconnect()
    await redis.stop()
  })
  await admin.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  await until(async () => String(await admin.call('CLUSTER', 'INFO')).includes('cluster_state:ok'))
  return { admin, port: redis.port }
}

it('redisStore() over a Cluster reports again what a master has evicted while nobody asked', async (t) => {
  const { admin, port } = await startMaster(t)
  const { ask } = await throttledApp(t, {
    ...{ limitMs: 86_400_000, windowMs: LONG_WINDOW_MS, name: 'month' },
    store: redisStore(new Cluster([{ host: '127.0.0.1', port }], { lazyConnect: true })),
  })
  await Promise.all(USERS.map((user, i) => ask(user, 1_000 + i)))
  const known = async () => {
    const totals = await Promise.all(USERS.map((user) => sharedTotalMs(admin, user, 'month')))
    return totals.filter((ms, i) => ms >= 1_000 + i).length
  }
  await until(async () => (await known()) === USERS.length)

  const keys = await admin.keys('tollgate:w4:*')
  await sleep(RESTING_MS)
  const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
  await admin.config('SET', 'maxmemory', String(used + 200_000))
  const left = async () => (await Promise.all(keys.map((key) => admin.exists(key)))).filter((n) => n === 1).length
  for (let i = 0; (await left()) > keys.length / 2; i++) {
    assert.ok(i < 500, 'nothing was evicted')
    for (let k = 0; k < 20; k++) await admin.set(`co-tenant:${i}:${k}`, 'x'.repeat(2_000), 'EX', 7 * 86_400 * 9)
  }
  await admin.config('SET', 'maxmemory', '64mb')
  await until(async () => (await known()) === USERS.length)
})

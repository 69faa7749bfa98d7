// One key of another type or with damaged fields harms its own subject at most.
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { type StoreMessage, redisStore } from '../../../lib/index'
import { LONG_WINDOW_MS, openWindowKey, sharedTotalMs } from '../../chaos/shared-total'
import { heard, warned } from '../../support/heard'
import { missedDeadline } from './missed-deadline'
import { startRedis } from '../../support/redis'
import { throttledApp } from '../../support/throttled-app'
import { assertIs, atLeast, below, until } from '../../support/until'

const LIMIT_MS = 10_000

/** An app in one process over a Redis, with what its throttle warns of and announces. */
async function api(t: TestContext) {
  const redis = await startRedis()
  const admin = new Redis(redis.port)
  const unreadable = warned(t, 'TOLLGATE_UNREADABLE')
  const told = heard<StoreMessage>(t, 'degraded')
  const { ask } = await throttledApp(t, {
    ...{ windowMs: LONG_WINDOW_MS, name: 'month', limitMs: LIMIT_MS },
    store: redisStore(`redis://127.0.0.1:${redis.port}`),
  })
  t.after(async () => {
    admin.disconnect()
    await redis.stop()
  })
  told.splice(0)
  const keyOf = (user: string) => openWindowKey(user, 'month')
  const charge = async (user: string, ms: number) => (await ask(user, ms)).status
  const totalMs = (user: string) => sharedTotalMs(admin, user, 'month')
  const outages = () => told.filter(({ cause }) => !missedDeadline(cause))
  return { admin, charge, keyOf, outages, totalMs, unreadable }
}

describe('throttle() over a Redis in which one key is bad', () => {
  it('of another type: its subject is decided alone, no outage is announced, and one warning names key and cause', async (t) => {
    const { admin, charge, keyOf, outages, totalMs, unreadable } = await api(t)
    await admin.set(keyOf('ada'), 'somebody else wrote this')
    for (let i = 0; i < 20; i++) {
      assert.equal(await charge('ada', 100), 200)
      assert.equal(await charge('bob', 100), 200)
    }
    await until(() => totalMs('bob'), atLeast(2_000))
    assert.equal(await charge('ada', LIMIT_MS), 200)
    assert.equal(await charge('ada', 1), 429, 'its limit holds in this process')
    assert.equal(await charge('bob', 1), 200)
    assert.deepEqual(outages(), [])
    const [warning, ...more] = unreadable
    assert.deepEqual(more, [])
    assert.ok(warning?.includes(keyOf('ada')) && warning.includes('WRONGTYPE'), warning)
  })

  it('in damaged fields: they are mended, and nothing is announced', async (t) => {
    const { admin, charge, keyOf, outages, totalMs, unreadable } = await api(t)
    await charge('ada', 1_000)
    await until(() => totalMs('ada'), atLeast(1_000))
    for (let i = 0; i < 5; i++) {
      const names = await admin.hkeys(keyOf('ada'))
      for (const name of names) await admin.hset(keyOf('ada'), name, 'v3:1:2:3')
      assert.equal(await charge('ada', 100), 200)
      await until(() => totalMs('ada').catch(() => 0), atLeast(1_000 + 100 * (i + 1)))
    }
    assertIs(await totalMs('ada'), below(2_000))
    assert.deepEqual([outages(), unreadable], [[], []])
  })
})

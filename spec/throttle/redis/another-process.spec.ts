import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import express from 'express'
import { type ThrottleOptions, redisStore, throttle } from '../../../lib/index'
import { databaseOfSuite } from '../../support/redis'
import { listen } from '../../support/serve'
import { until } from '../../support/until'

const LIMIT_MS = 400
const WINDOW_MS = 1_500

describe('throttle() and a user who goes to another process for each window', () => {
  const redis = databaseOfSuite()

  /** One process's app. It knows that requests are short; those of `burst()` run until they are released. */
  async function api(t: TestContext, options: ThrottleOptions) {
    const running = new Set<ServerResponse>()
    const asked: Promise<unknown>[] = []
    const store = redisStore(redis.url)
    const common = { limitMs: LIMIT_MS, windowMs: WINDOW_MS, wait: false } as const
    const throttled = throttle({ ...common, ...options, store, subject: (req) => req.get('x-user') })
    const app = express().use(throttled)
    app.get('/', (req, res) => void (req.query.held === undefined ? res.end() : running.add(res)))
    const { get, close } = await listen(app)
    await throttled.ready()
    for (const teacher of ['t1', 't2', 't3', 't4', 't5']) await get('/', { 'x-user': teacher })
    const ask = async (user: string, path = '/') => (await get(path, { 'x-user': user })).status
    const burst = async (user: string, requests: number) => {
      let refused = 0
      for (let i = 0; i < requests; i++)
        asked.push(ask(user, '/?held').then((status) => (refused += Number(status !== 200))))
      await until(() => running.size + refused === requests)
      return running.size
    }
    const release = async () => {
      for (const res of running) res.end()
      running.clear()
      await Promise.all(asked)
      await throttled.flush()
    }
    t.after(async () => {
      await release()
      await close()
      await throttled.close()
    })
    const usage = async (user: string) => (await throttled.usage(user))[0] ?? assert.fail()
    return { ask, burst, release, usage }
  }

  /** In the one process requests of the user have used twelve limits, and run on. */
  async function overshot(t: TestContext, options: ThrottleOptions = {}) {
    const [one, other] = await Promise.all([api(t, options), api(t, options)])
    const tooFew = async (user: string) => (await one.burst(user, 40)) < 8
    let user = `eve of ${t.name}`
    for (; await tooFew(user); user += ' again') await one.release() // time passed while they came
    await until(async () => (await one.usage(user)).spentMs > 12 * LIMIT_MS)
    const windowEnd = async () => {
      const endsAt = performance.now() + (await one.usage(user)).endsInMs
      await until(() => performance.now() > endsAt)
    }
    return { one, other, user, windowEnd }
  }

  it('counts what runs across the end of a window among the 32 at once', async (t) => {
    const { other, user, windowEnd } = await overshot(t)
    await windowEnd()
    assert.equal(await other.burst(user, 40), 0)
  })

  it('lets fewer run in the next window, by what the user took in the other process', async (t) => {
    const { one, other, user, windowEnd } = await overshot(t)
    await one.release()
    await windowEnd()
    const most = await other.burst(user, 40)
    assert.ok(most >= 1 && most <= 4, `${most} of 32 places after 12 budgets`)
  })

  it('has a debt follow with carryOvershoot', async (t) => {
    const { one, other, user, windowEnd } = await overshot(t, { carryOvershoot: true })
    await one.release()
    await windowEnd()
    assert.ok((await other.usage(user)).spentMs > 10 * LIMIT_MS)
    assert.equal(await other.ask(user), 429)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { type ThrottleOptions, redisStore } from '../../../lib/index'
import { type Server, startRedis } from '../../support/redis'
import { throttledApp } from '../../support/throttled-app'
import { until } from '../../support/until'

describe('reset() in one process', () => {
  let redis: Server
  before(async () => (redis = await startRedis()))
  after(() => redis.stop())

  async function api(t: TestContext, options: ThrottleOptions) {
    const store = redisStore(`redis://127.0.0.1:${redis.port}`)
    const { throttled, ask } = await throttledApp(t, { limitMs: 1_000, windowMs: 86_400_000, ...options, store })
    return { throttled, ask: async (user: string, ms = 0) => (await ask(user, ms)).status }
  }

  for (const options of [{}, { wait: false }] as const) {
    it(`is noticed by another that refuses from memory, with ${JSON.stringify(options)}`, async (t) => {
      const [a, b] = [await api(t, options), await api(t, options)]
      const user = `ada ${JSON.stringify(options)}`
      await until(async () => (await a.ask(user, 1_500)) === 200) // only who is admitted is charged
      await until(async () => (await a.ask(user)) === 429)
      for (let i = 0; i < 20; i++) assert.equal(await a.ask(user), 429)
      await until(async () => ((await b.throttled.usage(user))[0]?.spentMs ?? 0) >= 1_500)
      await b.throttled.reset(user)
      await until(async () => (await a.ask(user)) === 200)
    })
  }
})

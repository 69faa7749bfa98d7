import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import express, { type Request } from 'express'
import { type ThrottleOptions, redisStore, throttle } from '../../../lib/index'
import { redisOfSuite } from '../../support/redis'
import { serve } from '../../support/serve'
import { ready } from '../../support/ready'
import { until } from '../../support/until'

const COMMON = { limitMs: 18_000, windowMs: 86_400_000, subject: (req: Request) => `user:${req.get('x-user')}` }

describe('commands that throttle() sends to Redis', () => {
  const own = redisOfSuite()

  /** An app behind a throttle for each of the options, all over one store. */
  async function api(t: TestContext, ...options: ThrottleOptions[]) {
    const store = redisStore(`redis://127.0.0.1:${own.server.port}`)
    const throttles = options.map((each, i) =>
      throttle({ ...COMMON, name: `${t.name}-${i}`.slice(0, 40), store, ...each }),
    )
    const app = express()
    app.get('/person', ...throttles, (_req, res) => void res.end())
    app.get('/open', ...throttles.slice(0, 1), (_req, res) => void res.end())
    const { get } = await serve(app)
    t.after(() => Promise.all(throttles.map((each) => each.close())))
    await ready(...throttles)
    const ask = async (user: string, path = '/person') =>
      assert.equal((await get(path, { 'x-user': user })).status, 200)
    for (let i = 0; i < 40; i++) for (const path of ['/person', '/open']) await ask(`first-${i}`, path) // prices are known
    return { ask, throttles }
  }

  /** Reports sent meanwhile, in commands by Redis's own count, heartbeats left out. */
  async function commandsOf(run: () => Promise<void>): Promise<number> {
    const scripts = async () => /cmdstat_evalsha:calls=(\d+)/.exec(await own.redis.info('commandstats'))?.[1] ?? '0'
    const beats = async () => /cmdstat_zadd:calls=(\d+)/.exec(await own.redis.info('commandstats'))?.[1] ?? '0'
    await own.redis.config('RESETSTAT')
    await run()
    return Number(await scripts()) - Number(await beats())
  }

  it('sends one for a request of an idle user in one window', async (t) => {
    const { ask } = await api(t, {})
    const commands = await commandsOf(async () => {
      for (let i = 0; i < 300; i++) await ask(`one-${i}`)
    })
    t.diagnostic(`${commands} commands for 300 requests`)
    assert.ok(commands >= 300 && commands <= 360, `${commands} commands`)
  })

  it('sends one for each window of a request of an idle user', async (t) => {
    const options = Array.from({ length: 2 }, (_, i) => ({ windowMs: 86_400_000 / (i + 1), name: `two-${i}` }))
    const { ask } = await api(t, ...options)
    const commands = await commandsOf(async () => {
      for (let i = 0; i < 300; i++) await ask(`two-${i}`)
    })
    t.diagnostic(`${commands} commands for 300 requests in two windows`)
    assert.ok(commands >= 600 && commands <= 720, `${commands} commands`)
  })

  it('asks only the windows that a route has', async (t) => {
    const { ask, throttles } = await api(t, {}, {})
    const commands = await commandsOf(async () => {
      for (let i = 0; i < 200; i++) await ask(`open-${i}`, '/open')
    })
    assert.ok(commands >= 200 && commands <= 240, `${commands} commands`)
    const [, second] = throttles
    assert.equal((await second?.usage('user:open-1'))?.[0]?.spentMs, 0)
  })

  it('sends at most 0.45 for a request of a user who comes again within 5 s; in two windows twice as many', async (t) => {
    for (const [windows, most] of [
      [1, 0.45],
      [2, 0.9],
    ] as const) {
      const options = Array.from({ length: windows }, (_, i) => ({ name: `regular-${windows}-${i}` }))
      const { ask } = await api(t, ...options)
      const rounds = async (count: number) => {
        for (let round = 0; round < count; round++) {
          const next = pause(600)
          for (let user = 0; user < 20; user++) await ask(`regular-${user}`)
          await next
        }
      }
      await rounds(3) // the first two ask
      // A busy machine makes a request look expensive now and then. Nothing is asked ahead for such a request.
      let least = Infinity
      await until(async () => (least = Math.min(least, (await commandsOf(() => rounds(4))) / (4 * 20))) <= most)
      t.diagnostic(`${least.toFixed(3)} commands for a request in ${windows} windows`)
    }
  })
})

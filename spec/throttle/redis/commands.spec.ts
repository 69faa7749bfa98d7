// How many commands requests send to Redis, in one window and in several.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import express, { type Request } from 'express'
import { type ThrottleOptions, redisStore, throttle } from '../../../lib/index'
import { parseField } from '../../../lib/throttle/redis/record'
import { subjectId } from '../../../lib/throttle/budget/subjects'
import { redisOfSuite } from '../../support/redis'
import { serve } from '../../support/serve'
import { ready } from '../../support/ready'
import { between, until } from '../../support/until'

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

  /** Requests of as many idle users send few more commands: one each, and a report for all now and then. */
  async function sendsOneEach(ask: (user: string) => Promise<void>): Promise<void> {
    let users = 0
    const batch = async () => {
      for (let i = 0; i < 40; i++) await ask(`idle-${users++}`)
    }
    // A busy machine adds reports of requests that take long, and takes none away: the best of some batches counts.
    await until(() => commandsOf(batch), between(40, 48))
  }

  for (const windows of [1, 2, 3])
    it(`sends one for a request of an idle user in windows: ${windows}`, async (t) => {
      const options = Array.from({ length: windows }, (_, i) => ({ name: `idle-${windows}-${i}` }))
      const { ask } = await api(t, ...options)
      await sendsOneEach((user) => ask(`${windows}-${user}`))
    })

  it('asks only the windows that a route has', async (t) => {
    const { ask, throttles } = await api(t, {}, {})
    await sendsOneEach((user) => ask(`open-${user}`, '/open'))
    const [, second] = throttles
    assert.equal((await second?.usage('user:open-idle-1'))?.[0]?.spentMs, 0)
  })

  it('gives back what was asked for a window that the request does not come to', async (t) => {
    const store = redisStore(`redis://127.0.0.1:${own.server.port}`)
    const [first, second] = ['first', 'second'].map((name) => throttle({ ...COMMON, limitMs: 1_000, name, store }))
    assert.ok(first !== undefined && second !== undefined)
    const app = express()
    app.use(first)
    app.use((req, res, next) => (req.get('x-user') === 'mallory' ? void res.status(403).end() : next()))
    app.use(second)
    app.use((_req, res) => void setTimeout(() => res.end(), 60)) // dearer than what the store's figures may be off by
    const { get } = await serve(app)
    t.after(() => Promise.all([first.close(), second.close()]))
    await ready(first)
    await Promise.all(Array.from({ length: 8 }, (_, i) => get('/', { 'x-user': `known-${i}` })))
    assert.equal((await get('/', { 'x-user': 'mallory' })).status, 403)
    const [key = ''] = await own.redis.keys(`tollgate:w?:{${subjectId('user:mallory', 1).id}}:*:second`)
    assert.notEqual(key, '', 'the second window was asked')
    await until(async () => {
      const fields = Object.entries(await own.redis.hgetallBuffer(key)).filter(([name]) => name !== 's')
      return fields.every(([, packed]) => parseField(packed)?.held === 0)
    })
    assert.equal((await second.usage('user:mallory'))[0]?.spentMs, 0)
  })
})

// A real Redis that is not there, dies, hangs or comes back empty, as one process meets it.
import assert from 'node:assert/strict'
import { type TestContext, after, describe, it } from 'node:test'
import express from 'express'
import { type ThrottleOptions, type ThrottleStore, redisStore, throttle, throttleTest } from '../../lib'
import { askingStore } from '../support/asking-store'
import { type Answer, serve } from '../support/serve'
import { type Server, freePort, startRedis } from '../support/redis'
import { assertIs, atLeast, below, including, above, until } from '../support/until'
import { insideOf } from '../../lib/throttle/store/store'

async function api(
  t: TestContext,
  port: number,
  options: Partial<ThrottleOptions> = {},
  over = (of: ThrottleStore) => of,
) {
  const store = over(redisStore(`redis://127.0.0.1:${port}`))
  const report = t.mock.method(insideOf(store).serverOf(''), 'report')
  const throttled = throttle({
    ...{ limitMs: 10_000, windowMs: 86_400_000, subject: () => 'ada', ...options },
    store,
  })
  const app = express()
  app.use(throttled)
  app.get('/throttled', throttleTest())
  const { get } = await serve(app)
  t.after(() => throttled.close())
  return {
    throttled,
    /** How many commands the store was sent, heartbeats aside. */
    commands: () => report.mock.callCount(),
    charge: (ms: number): Promise<Answer> => get(`/throttled?processingTime=${ms}`),
    degraded: async () => (await throttled.usage('ada'))[0]?.degraded === true,
    spent: async () => (await throttled.usage('ada'))[0]?.spentMs as number,
  }
}

describe('throttle() while Redis does not answer', () => {
  const servers: Server[] = []
  after(() => Promise.all(servers.map((server) => server.stop())))

  /** Stopped when all is over, so that no spec sees the outage of another's end. */
  async function start(...args: string[]): Promise<Server> {
    const server = await startRedis(...args)
    servers.push(server)
    return server
  }

  it('decides by itself where Redis is not there at start, and tells Redis all when it comes', async (t) => {
    const port = await freePort()
    const a = await api(t, port)
    assert.equal((await a.charge(6_000)).status, 200)
    const commands = a.commands()
    assert.equal((await a.charge(4_001)).status, 200)
    assert.equal((await a.charge(0)).status, 429)
    assert.equal(await a.degraded(), true)
    assert.equal(a.commands(), commands, 'nobody waits for a store that is known to be down')
    await assert.rejects(a.throttled.reset('ada'), /^StoreDownError: reset\(\): the store does not answer/)
    assertIs(await a.spent(), above(10_000), 'nothing was reset')

    await start('--port', String(port))
    await until(() => a.degraded(), false)
    const b = await api(t, port)
    await until(() => b.degraded(), false)
    await until(() => b.spent(), atLeast(10_001))
    assert.equal((await b.charge(0)).status, 429)
  })

  it('goes on by what it knows where Redis dies, and heals a Redis that comes back empty', async (t) => {
    const port = await freePort()
    const first = await startRedis('--port', String(port))
    const [a, b] = [await api(t, port), await api(t, port)]
    await until(() => Promise.all([a.degraded(), b.degraded()]), [false, false])
    await a.charge(3_000)
    await b.charge(4_000)
    await until(async () => Math.min(await a.spent(), await b.spent()), atLeast(7_000))
    await first.stop()
    await until(() => Promise.all([a.degraded(), b.degraded()]), [true, true])
    assert.equal((await a.charge(2_000)).status, 200)
    assertIs(await a.spent(), atLeast(9_000), "the others' last known figures count")
    assert.equal((await b.charge(0)).status, 200, 'b does not know yet')

    await start('--port', String(port))
    await until(() => Promise.all([a.degraded(), b.degraded()]), [false, false])
    await until(async () => Math.min(await a.spent(), await b.spent()), atLeast(9_000))
    assertIs(await a.spent(), below(10_000), 'nothing is charged twice')
    assert.equal((await a.charge(1_001)).status, 200)
    await until(() => b.spent(), atLeast(10_001))
    assert.equal((await b.charge(0)).status, 429)
  })

  it('answers 503 with Retry-After where onOutage is closed, and recovers by itself', async (t) => {
    const port = await freePort()
    const a = await api(t, port, { onOutage: 'closed' })
    await a.charge(1)
    const commands = a.commands()
    for (let i = 0; i < 20; i++) {
      const answer = await a.charge(1)
      assert.equal(answer.status, 503)
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      assertIs(answer.number('X-PROCESSING-TIME'), atLeast(0))
    }
    assert.equal(a.commands(), commands)
    await start('--port', String(port))
    await until(async () => (await a.charge(1)).status, 200)
  })

  for (const options of [{}, { wait: false as const }])
    it(`waits for the first answer where onOutage is closed and the process has just started: ${JSON.stringify(options)}`, async (t) => {
      const redis = await start()
      const a = await api(t, redis.port, { onOutage: 'closed', ...options })
      const answers = await Promise.all([a.charge(1), a.charge(2), a.charge(3)])
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      assert.equal(await a.degraded(), false)
    })

  it('waits no longer than its deadline for a Redis that hangs', async (t) => {
    const redis = await start()
    const a = await api(t, redis.port, {}, askingStore)
    await until(() => a.degraded(), false)
    await a.charge(6_000)
    await until(() => a.degraded(), false)
    redis.signal('SIGSTOP')
    const commands = a.commands()
    assert.equal((await a.charge(4_001)).status, 200, 'decided while Redis hangs')
    assertIs(a.commands(), above(commands), 'it asked')
    await until(() => a.degraded())
    const asked = a.commands()
    assert.equal((await a.charge(0)).status, 429)
    assert.equal(a.commands(), asked, 'the next did not wait')
    redis.signal('SIGCONT')
    await until(() => a.degraded(), false)
    assert.equal((await a.charge(0)).status, 429)
    assertIs(await a.spent(), below(14_000))
  })

  it('resets once a Redis that missed a deadline answers again', async (t) => {
    const redis = await start()
    const a = await api(t, redis.port)
    await until(() => a.degraded(), false)
    await a.charge(10_001)
    redis.signal('SIGSTOP')
    const reset = a.throttled.reset('ada')
    reset.catch(() => undefined) // awaited below
    await until(a.degraded)
    redis.signal('SIGCONT')
    await reset
    assert.equal((await a.charge(0)).status, 200)
    assertIs(await a.spent(), below(5_000))
  })

  it('runs nothing and charges nothing where somebody else has answered while the store was asked', async (t) => {
    const redis = await start()
    const throttled = throttle({
      ...{ limitMs: 10_000, windowMs: 86_400_000, subject: () => 'ada', concurrency: 1 },
      store: askingStore(redisStore(`redis://127.0.0.1:${redis.port}`)),
    })
    const app = express()
    let handled = 0
    let answer = () => {}
    app.use((_req, res, next) => {
      answer = () => void res.status(408).end()
      next()
    })
    app.use(throttled)
    app.get('/', (_req, res) => {
      handled++
      res.end()
    })
    const { get } = await serve(app)
    t.after(() => throttled.close())
    const degraded = async () => (await throttled.usage('ada'))[0]?.degraded === true
    await until(degraded, false)
    redis.signal('SIGSTOP')
    answer = () => {}
    const waiting = get('/')
    await until(() => answer.toString(), including('408'))
    answer()
    assert.equal((await waiting).status, 408)
    await until(degraded) // the deadline is over, and the request was decided about
    assert.equal(handled, 0)
    redis.signal('SIGCONT')
    await until(degraded, false)
    assert.equal((await throttled.usage('ada'))[0]?.spentMs, 0)
    assert.equal((await get('/')).status, 200)
    assert.equal(handled, 1)
  })

  it('shows no req.throttle to who looks at a request that is given up while it waits', async (t) => {
    const redis = await start()
    const throttled = throttle({
      subject: () => 'ada',
      store: askingStore(redisStore(`redis://127.0.0.1:${redis.port}`)),
    })
    const seen: unknown[] = []
    const app = express()
    app.use((req, res, next) => {
      res.on('close', () => seen.push((req as { throttle?: { subject: string } }).throttle?.subject))
      next()
    })
    app.use(throttled)
    app.get('/', (_req, res) => void res.end())
    const { get, url } = await serve(app)
    t.after(() => throttled.close())
    await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
    await get('/')
    await until(() => seen.length, above(0))
    await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
    await redis.command('CLIENT', 'PAUSE', '1000', 'ALL')
    await assert.rejects(fetch(url, { signal: AbortSignal.timeout(20) }))
    await until(() => seen.length, above(1))
    assert.deepEqual(seen, ['ada', undefined])
  })
})

// The lines for SIGTERM in README, close() and flush().
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { type TestContext, describe, it } from 'node:test'
import express from 'express'
import { redisStore, throttle } from '../../lib'
import { page } from '../support/markdown'
import { redisOfSuite } from '../support/redis'
import { serve } from '../support/serve'
import { spawnProgram } from '../support/typescript'
import { ready } from '../support/ready'
import { assertIs, atLeast, below, until } from '../support/until'
import { LONG_WINDOW_MS, chargedMs, heldBy, openWindowKey } from '../chaos/shared-total'
import { cutWire } from '../support/cut-wire'
import { throttledApp } from '../support/throttled-app'

/** What README has for SIGTERM. */
const documented = page(process.cwd(), 'README.md').blocks.find(({ text }) => text.includes('SIGTERM'))?.text ?? ''
const lines = documented.slice(documented.indexOf('process.once('))

describe('lines for SIGTERM in README', () => {
  const own = redisOfSuite()

  async function start(t: TestContext, code = lines) {
    const child = spawnProgram(`${__dirname}/processes`, 'stopped-by-signal', {
      redis: own.server.url,
      lines: code,
    })
    const exit = once(child, 'exit')
    t.after(() => child.kill('SIGKILL'))
    const said: string[] = []
    createInterface(child.stdout).on('line', (line) => said.push(line))
    await until(() => said.includes('ready') || child.exitCode !== null)
    const port = Number(said.find((line) => line.startsWith('port '))?.slice(5))
    const ask = (path: string, user: string, agent: Agent | false = false) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const asked = request({ host: '127.0.0.1', port, path, agent, headers: { 'x-user': user } }, resolve)
        asked.once('error', reject).end()
      })
    const times = (what: string) => said.filter((line) => line === what).length
    return { child, exit, ask, times }
  }

  it('answer what runs and what waits, then publish, then end the process with exit code 0', async (t) => {
    const { child, exit, ask, times } = await start(t)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const answers = Array.from({ length: 4 }, () => ask('/until-told', 'ada'))
    const kept = ask('/until-told', 'bea', agent)
    await until(() => times('came') === 5 && times('runs') >= 3)
    assertIs(times('runs'), below(5), 'some wait')
    child.kill('SIGTERM')
    await until(() => times('told'), 1)
    const [first, again] = [await kept, ask('/', 'bea', agent)]
    first.resume()
    assert.deepEqual([first.statusCode, first.headers.connection], [200, 'keep-alive'])
    const { statusCode, headers } = (await again).resume()
    assert.deepEqual([statusCode, headers.connection], [200, 'close'], 'the connection that is in use ends, too')
    for (const { statusCode } of await Promise.all(answers)) assert.equal(statusCode, 200)
    assert.deepEqual(await exit, [0, null])

    const throttled = throttle({ store: redisStore(own.server.url), windowMs: 2_592_000_000 })
    t.after(() => throttled.close())
    await ready(throttled)
    const [usage] = await throttled.usage('ada')
    assert.ok(Number(usage?.spentMs) > 0 && usage?.degraded === false, JSON.stringify(usage))
  })

  it('end a process that has nothing to do but a connection that is kept alive', async (t) => {
    const { child, exit, ask } = await start(t)
    const agent = new Agent({ keepAlive: true })
    ;(await ask('/', 'ada', agent)).resume()
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
  })

  it('end a process with an event stream and without a store, after the time they name', async (t) => {
    assert.match(lines, /6_000/)
    const { child, exit, ask, times } = await start(t, lines.replace('6_000', '100'))
    const stream = await ask('/for-ever', 'ada')
    const cut = once(stream, 'error').then(([err]) => (err as Error).message)
    await until(() => times('runs'), 1)
    await own.server.stop()
    child.kill('SIGTERM')
    stream.resume()
    assert.equal(await cut, 'aborted')
    assert.deepEqual(await exit, [0, null])
  })
})

describe('throttled.close()', () => {
  it('answers waiting requests 503 with Retry-After at once, and lets running ones end', async () => {
    const throttled = throttle({ limitMs: 1_000, windowMs: 2_592_000_000, subject: () => 'ada' })
    const running: express.Response[] = []
    const app = express().use(throttled)
    let came = 0
    app.get('/', (_req, res) => void running.push(res))
    const { get, server } = await serve(app)
    server.prependListener('request', () => came++)
    const answers = Array.from({ length: 4 }, () => get('/'))
    await until(() => came, 4)
    const run = running.length
    await throttled.close()
    const refused = await Promise.all(answers.slice(run))
    assert.ok(run > 0 && refused.length > 0)
    for (const { status, headers } of refused) assert.deepEqual([status, headers.get('retry-after')], [503, '1'])
    assert.equal((await get('/missing')).status, 404, 'requests that come later are decided by this process')
    running.forEach((res) => res.send('ok'))
    for (const { status } of await Promise.all(answers.slice(0, run))) assert.equal(status, 200)
  })
})

const OPTIONS = { windowMs: LONG_WINDOW_MS, limitMs: 3_600_000 }

describe('throttled.flush()', () => {
  const own = redisOfSuite()

  /** An app over Redis, whose requests charge 100 ms. */
  async function over(t: TestContext, port = own.server.port) {
    const store = redisStore(`redis://127.0.0.1:${port}`)
    const { throttled, ask } = await throttledApp(t, { ...OPTIONS, store })
    return { throttled, ask: (user: string) => ask(user, 100) }
  }
  const stored = (user: string) => own.redis.hgetallBuffer(openWindowKey(user, 'default'))
  const held = async (user: string) => heldBy(await stored(user)).reduce((sum, [ms, running]) => sum + ms + running, 0)

  it('publishes what was charged before it', async (t) => {
    const { throttled, ask } = await over(t)
    for (let i = 0; i < 20; i++) await ask('ada')
    const [usage] = await throttled.usage('ada')
    await ask('ada')
    await throttled.flush()
    const published = chargedMs(await stored('ada'))
    assertIs(published, atLeast((usage?.spentMs ?? Infinity) + 100), `${published} of ${usage?.spentMs} + 100`)
  })

  it('gives back what was granted ahead', async (t) => {
    const { throttled, ask } = await over(t)
    await until(async () => {
      await ask('bob')
      return (await held('bob')) > 0 // a grant: nothing runs now
    })
    await throttled.flush()
    assert.equal(await held('bob'), 0)
  })

  it('resolves during an outage, and what it could not publish is published later', async (t) => {
    const wire = await cutWire(own.server.port)
    t.after(() => wire.cut())
    const { throttled, ask } = await over(t, wire.port)
    await ask('dan')
    await throttled.flush()
    await wire.cut()
    await until(async () => {
      await ask('dan')
      await throttled.flush()
      return (await throttled.usage('dan'))[0]?.degraded
    })
    const [usage] = await throttled.usage('dan')
    assertIs(chargedMs(await stored('dan')), below(usage?.spentMs ?? 0))
    await wire.mend()
    await until(async () => {
      await throttled.flush()
      return chargedMs(await stored('dan')) >= (usage?.spentMs ?? Infinity)
    })
  })

  it('may be called for nobody, twice at once, beside close() and after it', async (t) => {
    const { throttled, ask } = await over(t)
    await throttled.flush()
    await ask('eve')
    await Promise.all([throttled.flush(), throttled.flush(), throttled.close()])
    await throttled.flush()
    assertIs(chargedMs(await stored('eve')), atLeast(100))
  })

  it('resolves where there is no store, and keeps what was charged', async (t) => {
    const { throttled, ask } = await throttledApp(t, OPTIONS)
    await ask('fay', 100)
    await throttled.flush()
    assertIs((await throttled.usage('fay'))[0]?.spentMs ?? 0, atLeast(100))
  })
})

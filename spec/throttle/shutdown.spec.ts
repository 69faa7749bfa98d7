import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { createInterface } from 'node:readline'
import { type TestContext, after, before, describe, it } from 'node:test'
import express from 'express'
import { redisStore, throttle } from '../../lib'
import { page } from '../support/markdown'
import { type Server, startRedis } from '../support/redis'
import { serve } from '../support/serve'
import { spawnProgram } from '../support/typescript'
import { until } from '../support/until'

/** What README has for SIGTERM. */
const documented = page(process.cwd(), 'README.md').blocks.find(({ text }) => text.includes('SIGTERM'))?.text ?? ''
const lines = documented.slice(documented.indexOf('process.once('))

describe('lines for SIGTERM in README', () => {
  let redis: Server
  before(async () => (redis = await startRedis()))
  after(() => redis.stop())

  async function start(t: TestContext, code = lines) {
    const child = spawnProgram(`${__dirname}/processes`, 'stopped-by-signal', {
      redis: `redis://127.0.0.1:${redis.port}`,
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
    assert.ok(times('runs') < 5, 'some wait')
    child.kill('SIGTERM')
    await until(() => times('told') === 1)
    const [first, again] = [await kept, ask('/', 'bea', agent)]
    first.resume()
    assert.deepEqual([first.statusCode, first.headers.connection], [200, 'keep-alive'])
    const { statusCode, headers } = (await again).resume()
    assert.deepEqual([statusCode, headers.connection], [200, 'close'], 'the connection that is in use ends, too')
    for (const { statusCode } of await Promise.all(answers)) assert.equal(statusCode, 200)
    assert.deepEqual(await exit, [0, null])

    const throttled = throttle({ store: redisStore(`redis://127.0.0.1:${redis.port}`), windowMs: 2_592_000_000 })
    t.after(() => throttled.close())
    await throttled.ready()
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
    await until(() => times('runs') === 1)
    await redis.stop()
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
    await until(() => came === 4)
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

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { sign } from 'jsonwebtoken'
import { redisOfSuite } from '../support/redis'
import { assertIs, atLeast, atMost, above, until } from '../support/until'
import { type Child, startApi } from './processes/child'
import { get, listen } from '../support/serve'
import { spawnProgram } from '../support/typescript'

const OPTIONS = { limitMs: 10_000, windowMs: 86_400_000 }

/** Waits until each shares its windows with the others. */
async function allShare(children: readonly Child[]): Promise<void> {
  for (const child of children) await until(async () => (await child.usage('nobody')).degraded, false)
}

describe('throttle() in several processes over one Redis', () => {
  const own = redisOfSuite()

  it('has a user pay from one budget over two apps in two processes, and another user apart', async (t) => {
    await own.redis.flushall()
    const bearer = {
      issuer: 'https://as.test',
      audience: 'https://api.test',
      secret: 'between-these-three-processes-only',
    }
    const [a, b] = await Promise.all([1, 2].map(() => startApi(t, own.server.port, OPTIONS, bearer)))
    assert.ok(a && b && a.pid !== b.pid)
    await allShare([a, b])
    const token = (sub: string, client_id: string) =>
      sign({ sub, client_id }, bearer.secret, { issuer: bearer.issuer, audience: bearer.audience, expiresIn: 600 })
    const [phone, desk, other] = [token('ada', 'phone'), token('ada', 'desk'), token('bob', 'phone')]
    assert.equal((await a.getAs('/throttled?processingTime=6000', phone)).status, 200)
    await until(async () => (await b.getAs('/throttled', desk)).number('X-THROTTLE-MILLIS-USED'), atLeast(6_000))
    assert.equal((await b.getAs('/throttled?processingTime=4001', desk)).status, 200)
    await until(async () => (await a.getAs('/throttled', phone)).status, 429)
    assert.equal((await b.getAs('/throttled', desk)).status, 429)
    for (const child of [a, b]) assert.equal((await child.getAs('/throttled', other)).status, 200)
  })
})

const PROCESSES = 4
const REQUESTS = 50

/** A service that counts the calls which it answers at the same time. */
async function countingService(t: TestContext) {
  const count = { running: 0, most: 0, all: 0 }
  const { url, close } = await listen((_req, res) => {
    count.all++
    count.most = Math.max(count.most, ++count.running)
    void sleep(20).then(() => {
      count.running--
      res.end()
    })
  })
  t.after(close)
  return { url, count }
}

/** Starts at-once.ts, and waits until it answers. */
async function start(t: TestContext, given: object) {
  const child = spawnProgram(join(__dirname, 'processes'), 'at-once', given)
  const exit = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  await until(() => lines.length > 0 || child.exitCode !== null)
  const said = (what: string) => lines.filter((line) => line.startsWith(what)).map((line) => line.slice(what.length))
  return { url: `http://127.0.0.1:${said('port ')[0]}`, said }
}

describe('throttle({ concurrency: 4 }) in four processes over one Redis', () => {
  const redis = redisOfSuite()

  it("never runs more than four of one user's 50 requests at once, refuses none, and keeps their order", async (t) => {
    const { url: service, count } = await countingService(t)
    const options = { concurrency: 4, limitMs: 60_000, windowMs: 86_400_000, wait: { maxMs: 60_000 } }
    const given = { redis: `redis://127.0.0.1:${redis.server.port}`, service, options }
    const processes = await Promise.all(Array.from({ length: PROCESSES }, () => start(t, given)))
    const begin = performance.now()
    const answers = Array.from({ length: REQUESTS }, (_, n) => get(`${processes[n % PROCESSES]?.url}/${n}`))
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    t.diagnostic(`${Math.round(performance.now() - begin)} ms, ${count.most} at once`)
    assert.deepEqual([...new Set(statuses)], [200])
    assert.equal(count.all, REQUESTS)
    assertIs(count.most, above(1), `${count.most} at once`)
    assertIs(count.most, atMost(4), `${count.most} at once`)
    for (const { said } of processes) assert.deepEqual(said('began '), said('asked '))
  })
})

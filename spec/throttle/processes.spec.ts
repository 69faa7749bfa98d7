import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisOfSuite } from '../support/redis'
import { assertIs, atMost, above, until } from '../support/until'
import { get, listen } from '../support/serve'
import { spawnProgram } from '../support/typescript'

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

import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express, { type Response } from 'express'
import { type Throttle, redisStore, throttle } from '../../../lib'
import { introspectionOf } from '../../../lib/throttle/introspection'
import { subjectKey } from '../../../lib/throttle/subject'
import type { Account } from '../../../lib/throttle/budget/account'
import { askingStore } from '../../support/asking-store'
import { listen } from '../../support/serve'
import { type Server, startRedis } from '../../support/redis'
import { until } from '../../support/until'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** So long that no window ends amid a spec. */
const WINDOW_MS = 2_592_000_000

describe('throttle() twice, where a request waits for the second', () => {
  let redis: Server
  before(async () => {
    redis = await startRedis()
  })
  after(() => redis.stop())

  /** A team's window, then a user's; each admission asks Redis, so that a client can go while it is asked. */
  async function api(t: TestContext) {
    const store = askingStore(redisStore(`redis://127.0.0.1:${redis.port}`, { prefix: `${Math.random()}:` }))
    const wait = { maxMs: 60_000, perSubject: 64 } // on a busy machine those who came first wait while the others come
    const shared = { windowMs: WINDOW_MS, store, wait }
    const team = throttle({ ...shared, name: 'team', limitMs: 600_000, subject: () => 'team' })
    // Two at a time, since each holds half the limit. What they take meanwhile must not come to it.
    const user = throttle({ ...shared, name: 'user', limitMs: 6_000, subject: (req) => req.get('x-user') ?? null })
    const app = express()
    const responses: WeakRef<Response>[] = []
    const running = new Set<Response>()
    app.use((_req, res, next) => {
      responses.push(new WeakRef(res))
      next()
    })
    app.use(team, user)
    app.get('/', (_req, res) => {
      running.add(res)
      res.once('close', () => running.delete(res))
    })
    const { url, close } = await listen(app)
    t.after(async () => {
      await close()
      await Promise.all([team.close(), user.close()])
    })
    await Promise.all([team.ready(), user.ready()])
    const ask = (who: string) => {
      const leaving = new AbortController()
      const answer = fetch(url, { headers: { 'x-user': who }, signal: leaving.signal }).catch(() => undefined)
      return { answer, leave: () => leaving.abort() }
    }
    return { ask, running, responses, team: figures(team, 'team'), user: (who: string) => figures(user, who)() }
  }

  function figures(throttled: Throttle, who: string): () => Account {
    const budgets = introspectionOf(throttled)?.windows[0]?.budgets
    assert.ok(budgets)
    return () => budgets.account(subjectKey(who))
  }

  it('holds nothing in the first meanwhile, and pays nothing', async (t) => {
    const { ask, running, team, user } = await api(t)
    const asked = Array.from({ length: 12 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').line.length === 10)
    assert.equal(team().own.live, 2)
    for (let served = 0; served < 12;) {
      await until(() => running.size > 0)
      for (const res of running) {
        res.end()
        running.delete(res)
        served++
      }
    }
    for (const { answer } of asked) assert.equal((await answer)?.status, 200)
    await until(() => team().own.live === 0)
  })

  it("leaves its places and its time in the first to the team's other users", async (t) => {
    const { ask, running, user } = await api(t)
    const asked = Array.from({ length: 60 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').line.length === 58)
    for (const who of ['bob', 'eve', 'joe']) {
      const before = new Set(running)
      const answer = ask(who).answer.then((res) => res?.status)
      await until(() => running.size === 3)
      for (const res of running) if (!before.has(res)) res.end()
      assert.equal(await answer, 200)
      await until(() => running.size === 2)
    }
    for (const { leave } of asked) leave()
    await Promise.all(asked.map(({ answer }) => answer))
  })

  it('keeps nothing of a client that leaves at any moment of it', async (t) => {
    const { ask, running, team, user } = await api(t)
    for (let round = 0; round < 4; round++) {
      const who = `user-${round}`
      const asked = Array.from({ length: 30 }, () => ask(who))
      const left = asked.slice(2).map(async ({ answer, leave }, i) => {
        await new Promise((resolve) => setTimeout(resolve, i)) // some while Redis is asked, some while they wait
        leave()
        await answer
      })
      const ending = setInterval(() => running.forEach((res) => void res.end()), 3)
      await Promise.all(left)
      await Promise.all(asked.map(({ answer }) => answer))
      clearInterval(ending)
      for (const res of running) res.end()
      await until(() => user(who).line.length === 0 && user(who).own.live === 0)
      await until(() => team().own.live === 0 && team().line.length === 0)
    }
  })

  it('lets go of the memory of those who leave while others run on', async (t) => {
    const { ask, running, responses, user } = await api(t)
    const asked = Array.from({ length: 30 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').line.length === 28)
    for (const { leave } of asked) leave()
    for (const { answer } of asked) await answer
    await until(() => user('ada').line.length === 0)
    asked.length = 0
    // The parsers that Node keeps for later connections may each know their last one.
    await until(async () => {
      await new Promise(setImmediate)
      collect()
      return responses.filter((ref) => ref.deref() !== undefined).length <= 20
    })
  })
})

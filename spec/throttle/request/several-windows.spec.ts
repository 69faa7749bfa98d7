import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express, { type Response } from 'express'
import { type Throttle, redisStore, throttle } from '../../../lib'
import { systemClock } from '../../../lib/http/clock'
import { introspectionOf } from '../../../lib/throttle/introspection'
import { type WindowPlace, admitToAll } from '../../../lib/throttle/request/several-windows'
import { subjectKey } from '../../../lib/throttle/subject'
import type { SubjectWindow } from '../../../lib/throttle/window/subject-window'
import { WindowRegistry } from '../../../lib/throttle/window-registry'
import { listen } from '../../support/listen'
import { type Server, startRedis } from '../../support/redis'
import { until } from '../../support/until'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** So long that no window ends amid a spec. */
const WINDOW_MS = 2_592_000_000

describe('throttle() twice, where a request waits for its second window', () => {
  let redis: Server
  before(async () => {
    redis = await startRedis()
  })
  after(() => redis.stop())

  /** A team's window, then a user's; each admission asks Redis, so that a client can go while it is asked. */
  async function api(t: TestContext) {
    const store = redisStore(`redis://127.0.0.1:${redis.port}`, { prefix: `${Math.random()}:` })
    const wait = { maxMs: 60_000, perSubject: 64 } // on a busy machine those who came first wait while the others come
    const shared = { windowMs: WINDOW_MS, store, maxStaleMs: 0, wait }
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

  function figures(throttled: Throttle, who: string): () => SubjectWindow {
    const window = introspectionOf(throttled)?.windows[0]?.window
    assert.ok(window)
    return () => window.subjectWindow(subjectKey(who))
  }

  it('holds nothing in the first meanwhile', async (t) => {
    const { ask, running, team, user } = await api(t)
    const asked = Array.from({ length: 12 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').waiting.length === 10)
    await until(() => team().own.running === 2)
    for (let served = 0; served < 12;) {
      await until(() => running.size > 0)
      for (const res of running) {
        res.end()
        running.delete(res)
        served++
      }
    }
    for (const { answer } of asked) assert.equal((await answer)?.status, 200)
    await until(() => team().own.running === 0)
  })

  it('keeps nothing of a client that leaves at any moment of it', async (t) => {
    const { ask, running, team, user } = await api(t)
    for (let round = 0; round < 4; round++) {
      const who = `user-${round}`
      const asked = Array.from({ length: 60 }, () => ask(who))
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
      await until(() => user(who).waiting.length === 0 && user(who).own.running === 0)
      await until(() => team().own.running === 0 && team().waiting.length === 0)
    }
  })

  it('lets go of the memory of those who leave while others run on', async (t) => {
    const { ask, running, responses, user } = await api(t)
    const asked = Array.from({ length: 60 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').waiting.length === 58)
    for (const { leave } of asked) leave()
    for (const { answer } of asked) await answer
    await until(() => user('ada').waiting.length === 0)
    asked.length = 0
    // The parsers that Node keeps for later connections may each know their last one.
    await until(async () => {
      await new Promise(setImmediate)
      collect()
      return responses.filter((ref) => ref.deref() !== undefined).length <= 20
    })
  })

  it('settles also where the client goes while Redis is asked: what it had by then is not lost', async (t) => {
    const store = redisStore(`redis://127.0.0.1:${redis.port}`, { prefix: `${Math.random()}:` })
    const windows = WindowRegistry.of(store)
    t.after(() => Promise.all(['first', 'second'].map((name) => windows.close(name))))
    const place = (name: string): WindowPlace => ({
      window: windows.open({ name, windowMs: WINDOW_MS, limitMs: 1_000 }, 0, systemClock),
      ...{ keptAs: 'ada', limitUs: 1_000_000, price: () => 100_000 },
    })
    const [first, second] = [place('first'), place('second')]
    await until(() => !second.window.isDegraded(second.window.subjectWindow('ada')))
    const ticket = second.window.begin(second.window.subjectWindow('ada'))
    const wait = () => ({ maxUs: 1_000_000, perSubject: 1 })
    const decision = await Promise.race([
      admitToAll([first, second], { place: second, ticket }, wait, () => true),
      new Promise<undefined>((resolve) => setTimeout(resolve, 5_000, undefined).unref()),
    ])
    assert.ok(decision !== undefined && 'tickets' in decision)
    assert.deepEqual(new Set(decision.tickets.keys()), new Set([first, second]))
  })
})

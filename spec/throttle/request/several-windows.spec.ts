// Requests that pass two throttles: waiting for the second, and who pays over one store.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express, { type Response } from 'express'
import { type Throttle, redisStore, throttle, budgetOf } from '../../../lib'
import { nowUs, systemClock } from '../../../lib/http/clock'
import { introspectionOf } from '../../../lib/throttle/introspection'
import { subjectKey } from '../../../lib/throttle/subject'
import type { Account } from '../../../lib/throttle/budget/account'
import { askingStore } from '../../support/asking-store'
import { serve } from '../../support/serve'
import { databaseOfSuite } from '../../support/redis'
import { ready } from '../../support/ready'
import { assertIs, below, above, until } from '../../support/until'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** So long that no window ends amid a spec. */
const WINDOW_MS = 2_592_000_000

describe('throttle() twice, where a request waits for the second', () => {
  const own = databaseOfSuite()

  /** A team's window and a user's, in this order or the other; each admission asks Redis, so that a client can go while it is asked. */
  async function api(t: TestContext, isUserFirst = false) {
    const store = askingStore(redisStore(own.url, { prefix: `${Math.random()}:` }))
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
    app.use(...(isUserFirst ? [user, team] : [team, user]))
    app.get('/', (_req, res) => {
      running.add(res)
      res.once('close', () => running.delete(res))
    })
    const { url } = await serve(app)
    t.after(() => Promise.all([team.close(), user.close()]))
    await ready(team, user)
    const ask = (who: string) => {
      const leaving = new AbortController()
      const answer = fetch(url, { headers: { 'x-user': who }, signal: leaving.signal }).catch(() => undefined)
      return { answer, leave: () => leaving.abort() }
    }
    return { ask, running, responses, team: figures(team, 'team'), user: (who: string) => figures(user, who)() }
  }

  function figures(throttled: Throttle, who: string): () => Account {
    const accounts = introspectionOf(throttled)?.windows[0]?.accounts
    assert.ok(accounts)
    return () => accounts.account(subjectKey(who))
  }

  it('keeps its place in the first meanwhile, and pays nothing', async (t) => {
    const { ask, running, team, user } = await api(t)
    const asked = Array.from({ length: 12 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').line.length === 10)
    assert.equal(team().own.live.length, 12)
    assertIs(team().own.at(nowUs(systemClock)).usedUs, below(6_000_000), 'those that wait take no time')
    for (let served = 0; served < 12;) {
      await until(() => running.size, above(0))
      for (const res of running) {
        res.end()
        running.delete(res)
        served++
      }
    }
    for (const { answer } of asked) assert.equal((await answer)?.status, 200)
    await until(() => team().own.live.length, 0)
  })

  it("leaves the places and the time of the team to its other users where the user's window is the outer one", async (t) => {
    const { ask, running, user } = await api(t, true)
    const asked = Array.from({ length: 60 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').line.length === 58)
    for (const who of ['bob', 'eve', 'joe']) {
      const before = new Set(running)
      const answer = ask(who).answer.then((res) => res?.status)
      await until(() => running.size, 3, { answer })
      for (const res of running) if (!before.has(res)) res.end()
      assert.equal(await answer, 200)
      await until(() => running.size, 2)
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
      await until(() => user(who).line.length === 0 && user(who).own.live.length === 0)
      await until(() => team().own.live.length === 0 && team().line.length === 0)
    }
  })

  it('lets go of the memory of those who leave while others run on', async (t) => {
    const { ask, running, responses, user } = await api(t)
    const asked = Array.from({ length: 30 }, () => ask('ada'))
    await until(() => running.size === 2 && user('ada').line.length === 28)
    for (const { leave } of asked) leave()
    for (const { answer } of asked) await answer
    await until(() => user('ada').line.length, 0)
    asked.length = 0
    // The parsers that Node keeps for later connections may each know their last one.
    await until(async () => {
      await new Promise(setImmediate)
      collect()
      return responses.filter((ref) => ref.deref() !== undefined).length <= 20
    })
  })
})

const MONTH_MS = 2_592_000_000
type Subject = (req: express.Request) => string | null

describe('throttle() twice over one store, with one window name', () => {
  const own = databaseOfSuite()

  /** What each subject pays of a request that takes no time and charges a second, in whole seconds. */
  async function paid(t: TestContext, subjects: readonly [Subject, Subject], names: readonly string[]) {
    const store = redisStore(own.url, { prefix: `${t.name}:` })
    const throttles = subjects.map((subject) => throttle({ store, subject, limitMs: 86_400_000, windowMs: MONTH_MS }))
    await ready(...throttles)
    const app = express().use(...throttles, (req, res) => {
      budgetOf(req).charge(1_000)
      res.end()
    })
    const { get } = await serve(app)
    t.after(() => Promise.all(throttles.map((each) => each.close())))
    assert.equal((await get('/')).status, 200)
    const spent = await Promise.all(names.map(async (name) => (await throttles[1]?.usage(name))?.[0]?.spentMs ?? NaN))
    return spent.map((ms) => Math.floor(ms / 1_000))
  }

  it('charges both subjects where they differ', async (t) => {
    assert.deepEqual(await paid(t, [() => 'ada', () => 'team'], ['ada', 'team', 'bob']), [1, 1, 0])
  })

  it('charges the same subject once', async (t) => {
    assert.deepEqual(await paid(t, [() => 'ada', () => 'ada'], ['ada']), [1])
  })

  it('charges the one that pays where the other is exempt', async (t) => {
    assert.deepEqual(await paid(t, [() => null, () => 'team'], ['team', 'null']), [1, 0])
    assert.deepEqual(await paid(t, [() => 'ada', () => null], ['ada', 'null']), [1, 0])
  })

  for (const order of ['before', 'after'] as const)
    it(`has the enforcing one decide where a dry run comes ${order} it, and charges once`, async (t) => {
      const store = redisStore(own.url, { prefix: `${order}:`, deadlineMs: 500 })
      const common = { store, limitMs: 100_000, windowMs: MONTH_MS, subject: () => 'ada' }
      const [dry, enforcing] = [throttle({ ...common, dryRun: true }), throttle(common)]
      await ready(dry, enforcing)
      const app = express().use(...(order === 'before' ? [dry, enforcing] : [enforcing, dry]))
      app.use((req, res) => {
        budgetOf(req).charge(40_000)
        res.end()
      })
      const { get } = await serve(app)
      t.after(() => Promise.all([dry.close(), enforcing.close()]))
      const statuses = []
      for (let n = 0; n < 5; n++) {
        statuses.push((await get('/')).status)
        await dry.usage('ada') // the store has the charge
      }
      assert.deepEqual(statuses, [200, 200, 200, 429, 429])
      assert.equal(Math.floor(((await dry.usage('ada'))[0]?.spentMs ?? 0) / 40_000), 3)
    })
})

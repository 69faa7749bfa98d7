import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import express from 'express'
import { budgetOf, redisStore, throttle } from '../../../lib'
import { listen } from '../../support/serve'
import { type Server, startRedis } from '../../support/redis'

const MONTH_MS = 2_592_000_000
type Subject = (req: express.Request) => string | null

describe('throttle() twice over one store, with one window name', () => {
  let server: Server
  before(async () => void (server = await startRedis()))
  after(() => server.stop())

  /** What each subject pays of a request that takes no time and charges a second, in whole seconds. */
  async function paid(t: TestContext, subjects: readonly [Subject, Subject], names: readonly string[]) {
    const store = redisStore(`redis://127.0.0.1:${server.port}`, { prefix: `${t.name}:` })
    const throttles = subjects.map((subject) => throttle({ store, subject, limitMs: 86_400_000, windowMs: MONTH_MS }))
    await Promise.all(throttles.map((each) => each.ready()))
    const app = express().use(...throttles, (req, res) => {
      budgetOf(req).charge(1_000)
      res.end()
    })
    const { get, close } = await listen(app)
    t.after(async () => {
      await close()
      await Promise.all(throttles.map((each) => each.close()))
    })
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

  it('refuses a request that one of both subjects cannot pay, and charges the other next to nothing', async (t) => {
    const store = redisStore(`redis://127.0.0.1:${server.port}`, { prefix: 'refusal:' })
    const common = { store, limitMs: 1_000, windowMs: MONTH_MS }
    const user = throttle({ ...common, subject: (req) => req.get('X-User') ?? null })
    const team = throttle({ ...common, subject: () => 'team' })
    await Promise.all([user.ready(), team.ready()])
    const app = express().use(user, team, (req, res) => {
      budgetOf(req).charge(1_001)
      res.end()
    })
    const { get, close } = await listen(app)
    t.after(async () => {
      await close()
      await Promise.all([user.close(), team.close()])
    })
    assert.equal((await get('/', { 'X-User': 'ada' })).status, 200)
    assert.equal((await get('/', { 'X-User': 'bob' })).status, 429)
    assert.ok(((await user.usage('bob'))[0]?.spentMs ?? 1_001) < 1_000, 'what ran between the two')
  })

  for (const order of ['before', 'after'] as const)
    it(`has the enforcing one decide where a dry run comes ${order} it, and charges once`, async (t) => {
      const store = redisStore(`redis://127.0.0.1:${server.port}`, { prefix: `${order}:`, deadlineMs: 500 })
      const common = { store, limitMs: 100_000, windowMs: MONTH_MS, subject: () => 'ada' }
      const [dry, enforcing] = [throttle({ ...common, dryRun: true }), throttle(common)]
      await Promise.all([dry.ready(), enforcing.ready()])
      const app = express().use(...(order === 'before' ? [dry, enforcing] : [enforcing, dry]))
      app.use((req, res) => {
        budgetOf(req).charge(40_000)
        res.end()
      })
      const { get, close } = await listen(app)
      t.after(async () => {
        await close()
        await Promise.all([dry.close(), enforcing.close()])
      })
      const statuses = []
      for (let n = 0; n < 5; n++) {
        statuses.push((await get('/')).status)
        await dry.usage('ada') // the store has the charge
      }
      assert.deepEqual(statuses, [200, 200, 200, 429, 429])
      assert.equal(Math.floor(((await dry.usage('ada'))[0]?.spentMs ?? 0) / 40_000), 3)
    })
})

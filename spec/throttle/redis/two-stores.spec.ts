import assert from 'node:assert/strict'
import { after, before, it, type TestContext } from 'node:test'
import express from 'express'
import { type ThrottleOptions, budgetOf, redisStore, throttle } from '../../../lib/index'
import { listen } from '../../support/serve'
import { type Server, startRedis } from '../../support/redis'
import { until } from '../../support/until'

const said: string[] = []
const listener = (warning: Error & { code?: string }) => {
  if (warning.code === 'TOLLGATE_TWO_STORES') said.push(warning.message)
}
let redis: Server
before(async () => {
  redis = await startRedis()
  process.on('warning', listener)
})
after(async () => {
  process.off('warning', listener)
  await redis.stop()
})

/** Two requests through both throttles, of which one is asked what was charged. */
async function charged(t: TestContext, one: ThrottleOptions, other: ThrottleOptions): Promise<number> {
  const common = { limitMs: 86_400_000, windowMs: 86_400_000, subject: () => 'ada' }
  const throttles = [throttle({ ...common, ...one }), throttle({ ...common, ...other })]
  const app = express()
  app.use(...throttles)
  app.use((req, res) => {
    budgetOf(req).charge(1_000)
    res.end()
  })
  const { get, close } = await listen(app)
  t.after(async () => {
    await close()
    await Promise.all(throttles.map((each) => each.close()))
  })
  await Promise.all(throttles.map((each) => each.ready()))
  await get('/')
  await get('/')
  const spent = async () => {
    await throttles[1]?.usage('ada') // publishes what it has charged
    return (await throttles[0]?.usage('ada'))?.[0]?.spentMs ?? 0
  }
  await until(async () => (await spent()) >= 2_000)
  return Math.floor((await spent()) / 1_000)
}

const store = (database: number, prefix = 'tollgate:') =>
  redisStore(`redis://127.0.0.1:${redis.port}/${database}`, { prefix })

it('throttle() warns once of two stores of one server and one window name, both mounted, and charges once', async (t) => {
  const shared = store(1)
  assert.equal(await charged(t, { store: shared }, { store: shared }), 2)
  assert.equal(await charged(t, { store: store(2) }, { store: store(2), name: 'other' }), 2)
  assert.equal(await charged(t, { store: store(3) }, { store: store(4) }), 2)
  assert.equal(await charged(t, { store: store(5) }, { store: store(5, 'other:') }), 2)
  assert.deepEqual(said, [])

  const twice = await charged(t, { store: store(6) }, { store: store(6) })
  assert.equal(twice, 2)
  assert.equal(said.length, 1)
  assert.match(
    String(said[0]),
    /window named 'default', each with a redisStore\(\) of its own for the same server: the first alone charges .*; give both the same store/,
  )
})

it('throttle() says nothing of two stores of one server that no request passes both of', async (t) => {
  const url = `redis://127.0.0.1:${redis.port}/7`
  const common = { subject: () => 'ada', name: 'apart' }
  const [one, two] = [0, 1].map(() => throttle({ ...common, store: redisStore(url) }))
  assert.ok(one !== undefined && two !== undefined)
  const app = express()
  let finish = (): void => undefined
  app.use('/one', one, (_req, res) => (finish = () => res.end()))
  app.use('/two', two, (_req, res) => {
    for (const until = performance.now() + 120; performance.now() < until;); // both requests are told of the blocked loop
    res.end()
  })
  const { get, close } = await listen(app)
  t.after(async () => {
    await close()
    await Promise.all([one.close(), two.close()])
  })
  await Promise.all([one.ready(), two.ready()])
  const before = said.length
  const first = get('/one')
  await until(async () => ((await one.usage('ada'))[0]?.spentMs ?? 0) > 0)
  await get('/two')
  finish()
  await first
  assert.equal(said.length, before)
})

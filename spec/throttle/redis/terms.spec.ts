// Two apps or two stores that mean different windows by one name are warned of.
import assert from 'node:assert/strict'
import { describe, it, type TestContext, after } from 'node:test'
import express from 'express'
import { type RedisStoreOptions, type ThrottleOptions, redisStore, throttle, budgetOf } from '../../../lib/index'
import { warned } from '../../support/heard'
import { databaseOfSuite, redisOfSuite } from '../../support/redis'
import { ready } from '../../support/ready'
import { atLeast, above, until } from '../../support/until'
import { insideOf } from '../../../lib/throttle/store/store'
import { serve } from '../../support/serve'

describe('throttles of two apps over one Redis', { concurrency: true }, () => {
  const own = databaseOfSuite()

  /** What is warned of until the second of two apps with these terms has heard the first. */
  async function saidOf(t: TestContext, name: string, ...apps: (ThrottleOptions & RedisStoreOptions)[]) {
    const all = warned(t)
    const said = () => all.filter((message) => message.includes(`'${name}'`))
    for (const { prefix, ...terms } of apps) {
      const store = redisStore(own.url, { prefix })
      const beat = t.mock.method(insideOf(store).serverOf(''), 'beat')
      const throttled = throttle({ name, limitMs: 1_000, windowMs: 60_000, ...terms, store })
      t.after(() => throttled.close())
      await ready(throttled)
      const beats = beat.mock.callCount()
      if (said().length === 0) await until(() => beat.mock.callCount(), above(beats))
    }
    return said()
  }

  const OTHER: [string, ThrottleOptions, RegExp][] = [
    ['limit', { limitMs: 2_000 }, /this one 2000 ms in 60000 ms, another one 1000 ms in 60000 ms/],
    ['length', { windowMs: 30_000 }, /this one 1000 ms in 30000 ms, another one 1000 ms in 60000 ms/],
    [
      'carryOvershoot',
      { carryOvershoot: true },
      /this one 1000 ms in 60000 ms with carryOvershoot, another one 1000 ms in 60000 ms\./,
    ],
    ['limit of a request', { limitMs: () => 5 }, /this one a limit by request in 60000 ms, another one 1000 ms/],
  ]
  for (const [what, terms, says] of OTHER)
    it(`warns of two windows of one name with another ${what}, with both remedies`, async (t) => {
      const said = await saidOf(t, `other ${what}`, {}, terms)
      assert.match(said[0] ?? '', says)
      assert.match(said[0] ?? '', /another prefix \(redisStore\(client, \{ prefix \}\)\) or its window another name/)
    })

  const SAME: [string, ThrottleOptions & RedisStoreOptions][] = [
    ['equal terms', {}],
    ['another prefix', { prefix: 'other:', limitMs: 2_000 }],
    ['another subject and outage', { onOutage: 'closed', subject: () => 'ada' }],
  ]
  for (const [what, terms] of SAME)
    it(`says nothing of ${what}`, async (t) => assert.deepEqual(await saidOf(t, `same ${what}`, {}, terms), []))

  it('says nothing of terms that a process stated a minute ago, and not since', async (t) => {
    const gone = throttle({ name: 'gone', limitMs: 1_000, windowMs: 60_000, store: redisStore(own.url) })
    await ready(gone)
    await gone.close()
    const key = 'tollgate:terms:{beat}'
    const aged = (said: string) => said.replace(/^\d+/, (at) => String(Number(at) - 60_000))
    const stated = Object.entries(await own.redis.hgetall(key)).filter(([terms]) => terms.includes('gone'))
    assert.equal(stated.length, 1)
    for (const [terms, said] of stated) await own.redis.hset(key, terms, aged(said))
    assert.deepEqual(await saidOf(t, 'gone', { limitMs: 2_000 }), [])
  })

  it('says nothing of terms that its own process had before', async (t) => {
    const store = redisStore(own.url)
    const keeper = throttle({ name: 'keeper', store })
    t.after(() => keeper.close())
    const beat = t.mock.method(insideOf(store).serverOf(''), 'beat')
    const said = warned(t)
    for (const limitMs of [1_000, 2_000]) {
      const throttled = throttle({ name: 'changed', limitMs, store })
      await ready(throttled)
      const beats = beat.mock.callCount()
      await until(() => beat.mock.callCount(), above(beats + 1))
      await throttled.close()
    }
    assert.ok(!said.join().includes("'changed'"), said.join())
  })
})

const said = warned({ after }, 'TOLLGATE_TWO_STORES')
const own = redisOfSuite()

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
  const { get } = await serve(app)
  t.after(() => Promise.all(throttles.map((each) => each.close())))
  await ready(...throttles)
  await get('/')
  await get('/')
  const spent = async () => {
    await throttles[1]?.usage('ada') // publishes what it has charged
    return (await throttles[0]?.usage('ada'))?.[0]?.spentMs ?? 0
  }
  await until(spent, atLeast(2_000))
  return Math.floor((await spent()) / 1_000)
}

const store = (database: number, prefix = 'tollgate:') =>
  redisStore(`redis://127.0.0.1:${own.server.port}/${database}`, { prefix })

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
  const url = `redis://127.0.0.1:${own.server.port}/7`
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
  const { get } = await serve(app)
  t.after(() => Promise.all([one.close(), two.close()]))
  await ready(one, two)
  const before = said.length
  const first = get('/one')
  await until(async () => (await one.usage('ada'))[0]?.spentMs ?? 0, above(0), { answer: first })
  await get('/two')
  finish()
  await first
  assert.equal(said.length, before)
})

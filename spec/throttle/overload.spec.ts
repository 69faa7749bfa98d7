// throttle({ overload }): who gets 503 while the event loop is late or the app says so.
import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import express from 'express'
import {
  type OverloadMessage,
  type RefusedMessage,
  type ThrottleOptions,
  budgetOf,
  redisStore,
  throttle,
} from '../../lib'
import { redisWindows } from '../../lib/inspect/redis-windows'
import { blockableClock } from './blockable-clock'
import { heard, warned } from '../support/heard'
import { databaseOfSuite } from '../support/redis'
import { serve } from '../support/serve'
import { assertIs, above, until } from '../support/until'

const LIMIT_MS = 1_000

/** An app that sheds load, on a clock of its own. Users spend time by charging it. */
async function api(t: TestContext, options: ThrottleOptions = {}, time = blockableClock()) {
  const { clock, advance, block } = time
  const terms = { limitMs: LIMIT_MS, windowMs: 86_400_000, overload: true, clock }
  const throttled = throttle({ subject: (req) => req.get('X-User'), ...terms, ...options })
  const app = express().use(throttled)
  app.get('/', (req, res) => {
    budgetOf(req).charge(Number(req.query.ms ?? 0))
    res.end()
  })
  const { get } = await serve(app)
  t.after(() => throttled.close())
  const ask = (user: string, ms = 0, path = '/') => get(`${path}?ms=${ms}`, { 'X-User': user })
  /** Half a second in which the event loop is late at any time: the share falls once, where it is later than before. */
  for (let n = 0; n < 48; n++) await ask(`known-${n % 6}`) // the route's price is no guess any more
  const late = (ms = 200) => [1, 2].forEach(() => (block(ms + 25), advance(0)))
  const calm = (ms = 250) => advance(ms)
  return { throttled, ask, late, calm, time }
}

const turn = () => new Promise(setImmediate)

/** How many of so many requests, one after the other, are refused. */
async function refusedOf(count: number, ask: () => Promise<{ status: number }>): Promise<number> {
  let refused = 0
  for (let n = 0; n < count; n++) if ((await ask()).status === 503) refused++
  return refused
}

/** Numbers from 0 to 1 that chance takes, spread evenly: a third of any few are below a third. */
function evenChance(t: TestContext): void {
  let n = 0
  t.mock.method(Math, 'random', () => (n += 0.618034) % 1)
}

describe('throttle({ overload }) while the event loop is late', () => {
  it('refuses who asks for most, at no cost, and lets everybody in again afterwards', async (t) => {
    evenChance(t)
    const { ask, late, calm } = await api(t)
    await ask('heavy', 900)
    assert.equal(await refusedOf(60, () => ask('heavy')), 0)
    await ask('light')
    for (let n = 0; n < 3; n++) late(200 + 100 * n)
    assertIs(await refusedOf(20, () => ask('heavy')), above(12))
    assert.equal(await refusedOf(2, () => ask('light')), 0)
    let refused = await ask('heavy')
    await until(async () => (refused = await ask('heavy')).status, 503)
    assert.ok([1, 2, 3].includes(refused.number('Retry-After')))
    assert.deepEqual([refused.number('X-THROTTLE-MILLIS-USED'), refused.number('X-THROTTLE-MILLIS-LEFT')], [900, 100])
    for (let n = 0; n < 2; n++) calm()
    assert.equal(await refusedOf(20, () => ask('heavy')), 0)
    assert.equal((await ask('heavy')).number('X-THROTTLE-MILLIS-USED'), 900)
  })

  it('refuses more in a turn that is late already, and no more while the delay falls', async (t) => {
    evenChance(t)
    const { ask, late, time } = await api(t)
    await refusedOf(100, () => ask('heavy'))
    late()
    const before = await refusedOf(20, () => ask('heavy'))
    late(120)
    const easing = await refusedOf(20, () => ask('heavy'))
    for (const user of ['known-1', 'known-2', 'known-3']) {
      time.block(150)
      await ask(user)
    }
    const inLateTurn = await refusedOf(20, () => ask('heavy'))
    assert.ok(before < 14 && easing < 14 && inLateTurn > 16, `${before}, ${easing}, ${inLateTurn} of 20`)
  })

  it('refuses nobody else more for a turn that one user has blocked, in one request or in several', async (t) => {
    evenChance(t)
    const { ask, late, time } = await api(t)
    await refusedOf(300, () => ask('heavy'))
    late()
    for (let n = 0; n < 3; n++) {
      await ask('heavy')
      time.block(250)
    }
    const refused = await refusedOf(12, () => ask('light'))
    const onNewRoute = await refusedOf(3, () => ask('light', 0, '/new')) // its price is a guess of half the limit
    assert.deepEqual([refused, onNewRoute], [0, 0])
  })

  it('decides once about a request that comes to several throttles', async (t) => {
    evenChance(t)
    const { throttled, ask, late, time } = await api(t)
    const second = throttle({
      name: 'second',
      limitMs: LIMIT_MS,
      windowMs: 86_400_000,
      overload: true,
      clock: time.clock,
    })
    const app = express().use(
      throttle({ subject: () => 'heavy', overload: true, dryRun: true, clock: time.clock }),
      second,
    )
    const { get } = await serve(app.get('/', (_req, res) => void res.end()))
    t.after(() => Promise.all([second.close(), throttled.close()]))
    await refusedOf(60, () => ask('heavy'))
    for (let n = 0; n < 4; n++) late(200 + 100 * n)
    assertIs(await refusedOf(20, () => get('/')), above(12))
  })

  it('takes a process that was stopped for hours for no longer overload than a moment', async (t) => {
    const { ask, time, calm } = await api(t)
    await ask('light', 300)
    time.block(7_200_000)
    time.advance(25)
    for (let n = 0; n < 2; n++) calm()
    assert.equal(await refusedOf(20, () => ask('light')), 0)
  })

  it('tells of it, and refuses nobody in a dry run', async (t) => {
    const [told, refused] = [heard<OverloadMessage>(t, 'overload'), heard<RefusedMessage>(t, 'refused')]
    const said = warned(t, 'TOLLGATE_OVERLOAD')
    evenChance(t)
    const { ask, late, calm } = await api(t, { dryRun: true })
    await refusedOf(60, () => ask('heavy'))
    for (let n = 0; n < 4; n++) late(200 + 100 * n)
    assert.equal(await refusedOf(20, () => ask('heavy')), 0)
    const [{ subject, status, reason, dryRun, retryAfterSec } = {} as RefusedMessage] = refused
    assert.deepEqual([subject, status, reason, dryRun], ['heavy', 503, 'overload', true])
    assert.ok(refused.length > 12 && retryAfterSec >= 1 && retryAfterSec <= 3)
    late()
    for (let n = 0; n < 200; n++) calm()
    await turn()
    const shares = told.map(({ share }) => share)
    assert.deepEqual([shares[0], shares.at(-1), told.at(-1)?.refusedRequests], [0.9, 1, refused.length])
    assert.ok(told[0] && told[0].delayMs >= 100)
    assert.match(
      said.join('\n'),
      /^overload: the event loop is \d+ ms late, and users .* get 503\. .*add processes.*\noverload is over: \d+ requests/,
    )
    assert.equal(said.length, 2)
  })
})

describe('throttle({ overload: { isOverloaded } })', () => {
  it('sheds load while the app says so, in all throttles of the process that ask for it', async (t) => {
    evenChance(t)
    let isFull = true
    const one = await api(t, { overload: { isOverloaded: () => isFull } })
    const two = await api(t, {}, one.time)
    const without = await api(t, { overload: false }, one.time)
    const refused = async () => {
      const counts: number[] = []
      for (const { ask } of [one, two, without]) counts.push(await refusedOf(20, () => ask('heavy')))
      return counts.map((count) => count > 12)
    }
    await refused()
    for (let n = 0; n < 20; n++) one.calm(100)
    assert.deepEqual(await refused(), [true, true, false])
    isFull = false
    one.calm(10_000)
    assert.deepEqual(await refused(), [false, false, false])
    isFull = true
    one.calm(2_000)
    await one.throttled.close()
    one.calm(10_000)
    assert.equal(await refusedOf(20, () => two.ask('heavy')), 0)
  })

  for (const [what, isOverloaded] of [
    ['throws', () => assert.fail('no pool')],
    ['rejects', () => Promise.reject(new Error('no pool'))],
    ['returns no boolean', () => 1],
  ] as const) {
    it(`counts as false where it ${what}, and is named once a minute`, async (t) => {
      const said = warned(t, 'TOLLGATE_OVERLOAD')
      const { ask, calm } = await api(t, { overload: { isOverloaded: isOverloaded as () => boolean } })
      await ask('heavy', 900)
      calm(50_000)
      assert.equal((await ask('heavy')).status, 200)
      calm(50_000)
      await turn()
      assert.equal(said.length, 2)
      for (const message of said) assert.match(message, /^overload\.isOverloaded\(\) (returned|failed with) /)
    })
  }
})

describe('throttle({ overload, store: redisStore() })', () => {
  const database = databaseOfSuite()

  it('says so to whoever reads the windows', async (t) => {
    const store = redisStore(database.url)
    const { ask } = await api(t, { store, overload: { isOverloaded: () => true }, clock: undefined })
    await until(async () => (await ask('heavy')).status, 503)
    const published = await redisWindows(database.url, 'tollgate:')
    t.after(() => published.close())
    await until(async () =>
      (await published.read()).overloads.some(({ share, refusedRequests }) => share < 1 && refusedRequests > 0),
    )
  })
})

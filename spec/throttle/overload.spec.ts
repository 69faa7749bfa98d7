import assert from 'node:assert/strict'
import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
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
import { isShed } from '../../lib/throttle/overload'
import { blockableClock } from '../support/blockable-clock'
import { databaseOfSuite } from '../support/redis'
import { listen } from '../support/serve'
import { until } from '../support/until'

const LIMIT_MS = 1_000

/** An app that sheds load, on a clock of its own. Users spend time by charging it. */
async function api(t: TestContext, options: ThrottleOptions = {}, time = blockableClock()) {
  const { clock, advance, block } = time
  const terms = { limitMs: LIMIT_MS, windowMs: 86_400_000, overload: true, clock }
  const throttled = throttle({ subject: (req) => req.get('X-User') as string, ...terms, ...options })
  const app = express().use(throttled)
  app.get('/', (req, res) => {
    budgetOf(req).charge(Number(req.query.ms ?? 0))
    res.end()
  })
  const { get, close } = await listen(app)
  t.after(async () => {
    await close()
    await throttled.close()
  })
  const ask = (user: string, ms = 0) => get(`/?ms=${ms}`, { 'X-User': user })
  /** Half a second in which the event loop is late at any time: the share falls once, where it is later than before. */
  const late = (ms = 200) => [1, 2].forEach(() => (block(ms + 25), advance(0)))
  const calm = (ms = 250) => advance(ms)
  return { throttled, ask, late, calm, time }
}

function heard<Message>(t: TestContext, name: string): Message[] {
  const messages: Message[] = []
  const listener: ChannelListener = (message) => messages.push(message as Message)
  subscribe(`express-tollgate:${name}`, listener)
  t.after(() => unsubscribe(`express-tollgate:${name}`, listener))
  return messages
}

function warnings(t: TestContext): string[] {
  const messages: string[] = []
  const listener = ({ message, code }: Error & { code?: string }) => {
    if (code?.startsWith('TOLLGATE_OVERLOAD')) messages.push(message)
  }
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  return messages
}

const turn = () => new Promise(setImmediate)

describe('throttle({ overload }) while the event loop is late', () => {
  it('refuses who used most, at no cost, and lets them in again afterwards', async (t) => {
    const { ask, late, calm } = await api(t)
    await ask('heavy', 900)
    await ask('light', 700)
    assert.equal((await ask('heavy')).status, 200)
    late()
    const refused = await ask('heavy')
    assert.equal(refused.status, 503)
    assert.ok([1, 2, 3].includes(refused.number('Retry-After')))
    assert.deepEqual([refused.number('X-THROTTLE-MILLIS-USED'), refused.number('X-THROTTLE-MILLIS-LEFT')], [900, 100])
    assert.equal((await ask('light')).status, 200)
    late()
    assert.equal((await ask('light')).status, 503)
    calm()
    assert.deepEqual([(await ask('light')).status, (await ask('heavy')).status], [200, 503])
    for (let n = 0; n < 40; n++) calm()
    const back = await ask('heavy')
    assert.deepEqual([back.status, back.number('X-THROTTLE-MILLIS-USED')], [200, 900])
  })

  it('refuses nobody who used less than somebody whom it lets in', async (t) => {
    const { ask, late, calm, time } = await api(t)
    const users = Array.from({ length: 40 }, (_, i) => ({ name: `user-${i}`, usedMs: (i * 611) % LIMIT_MS }))
    for (const { name, usedMs } of users) await ask(name, usedMs)
    let refusedInAll = 0
    const inTurn = () => time.block(150)
    for (const step of [late, late, inTurn, late, calm, late, late, late, late, calm, calm, late]) {
      step()
      const used = { admitted: [0], refused: [Infinity] }
      for (const { name, usedMs } of users) {
        const isAdmitted = (await ask(name)).status === 200
        used[isAdmitted ? 'admitted' : 'refused'].push(usedMs)
      }
      refusedInAll += used.refused.length - 1
      assert.ok(Math.max(...used.admitted) < Math.min(...used.refused), JSON.stringify(used))
    }
    assert.ok(refusedInAll > 100)
  })

  it('refuses more of them in a turn that is late already, and no more while the delay falls', async (t) => {
    const { ask, late, time } = await api(t)
    await ask('heavy', 700)
    late()
    assert.equal((await ask('heavy')).status, 200)
    late(120)
    assert.equal((await ask('heavy')).status, 200)
    time.block(100)
    assert.equal((await ask('heavy')).status, 503)
  })

  it('answers some requests, whoever asks, where nobody heavy is left', async (t) => {
    const { ask, late, calm } = await api(t)
    for (let n = 0; n < 26; n++) late()
    const statuses = []
    for (let n = 0; n < 200; n++) statuses.push((await ask(`user-${n}`)).status)
    const admitted = statuses.filter((status) => status === 200).length
    assert.ok(admitted > 0 && admitted < 150, `${admitted} of 200`)
    for (let n = 0; n < 40; n++) calm()
    assert.equal((await ask('user-0')).status, 200)
  })

  it('takes a process that was stopped for hours for no longer overload than a second', async (t) => {
    const { ask, time } = await api(t)
    await ask('light', 300)
    time.block(7_200_000)
    time.advance(25)
    assert.equal((await ask('light')).status, 200)
  })

  it('tells of it, and refuses nobody in a dry run', async (t) => {
    const [told, refused, warned] = [heard<OverloadMessage>(t, 'overload'), heard<RefusedMessage>(t, 'refused'), warnings(t)] // prettier-ignore
    const { ask, late, calm } = await api(t, { dryRun: true })
    await ask('heavy', 900)
    late()
    assert.equal((await ask('heavy')).status, 200)
    const [{ subject, status, reason, dryRun, retryAfterSec } = {} as RefusedMessage] = refused
    assert.deepEqual([refused.length, subject, status, reason, dryRun], [1, 'heavy', 503, 'overload', true])
    assert.ok(retryAfterSec >= 1 && retryAfterSec <= 3)
    late()
    for (let n = 0; n < 200; n++) calm()
    await turn()
    const shares = told.map(({ share }) => share)
    assert.deepEqual([shares[0], shares.at(-1), told.at(-1)?.refused], [0.8, 1, 1])
    assert.ok(told[0] && told[0].delayMs >= 100)
    assert.match(warned.join('\n'), /^overload: users .* ms late .*\noverload is over: 1 request/)
    assert.equal(warned.length, 2)
  })
})

it('isShed() refuses nobody when all is well, however much was used', () => {
  assert.equal(isShed(1.2, { share: 1, admitted: 1 }, 5, 0.99), false)
  assert.equal(isShed(0.9, { share: 0.8, admitted: 1 }, 0, 0.99), true)
})

describe('throttle({ overload: { isOverloaded } })', () => {
  it('sheds load while the app says so, in all throttles of the process that ask for it', async (t) => {
    let isFull = true
    const one = await api(t, { overload: { isOverloaded: () => isFull } })
    const two = await api(t, {}, one.time)
    const without = await api(t, { overload: false }, one.time)
    for (const { ask } of [one, two, without]) await ask('heavy', 900)
    one.calm()
    const statuses = async () => Promise.all([one, two, without].map(async ({ ask }) => (await ask('heavy')).status))
    assert.deepEqual(await statuses(), [503, 503, 200])
    isFull = false
    one.calm(10_000)
    assert.deepEqual(await statuses(), [200, 200, 200])
    isFull = true
    one.calm()
    await one.throttled.close()
    one.calm(10_000)
    assert.equal((await two.ask('heavy')).status, 200)
  })

  for (const [what, isOverloaded] of [
    ['throws', () => assert.fail('no pool')],
    ['rejects', () => Promise.reject(new Error('no pool'))],
    ['returns no boolean', () => 1],
  ] as const) {
    it(`counts as false where it ${what}, and is named once a minute`, async (t) => {
      const warned = warnings(t)
      const { ask, calm } = await api(t, { overload: { isOverloaded: isOverloaded as () => boolean } })
      await ask('heavy', 900)
      calm(50_000)
      assert.equal((await ask('heavy')).status, 200)
      calm(50_000)
      await turn()
      assert.equal(warned.length, 2)
      for (const message of warned) assert.match(message, /^overload\.isOverloaded\(\) (returned|failed with) /)
    })
  }

  it('is checked at startup', () => {
    for (const [overload, message] of [
      ['yes', /overload/],
      [{ loopDelay: 5 }, /"loopDelayMs"/],
      [{ loopDelayMs: 9 }, /overload\.loopDelayMs.*10 to 10,000; received 9/],
      [{ loopDelayMs: NaN }, /overload\.loopDelayMs/],
      [{ isOverloaded: true }, /overload\.isOverloaded must be a function/],
    ] as const)
      assert.throws(() => throttle({ overload: overload as never }), message)
  })
})

describe('throttle({ overload, store: redisStore() })', () => {
  const database = databaseOfSuite()

  it('refuses who used most in another process', async (t) => {
    const [store, other] = [redisStore(database.url), redisStore(database.url)]
    const { ask } = await api(t, { store: other, overload: false, clock: undefined })
    const isOverloaded = () => true
    const shedding = await api(t, { store, overload: { isOverloaded }, clock: undefined })
    await until(async () => (await ask('heavy', 300)).status === 429)
    await until(async () => (await shedding.ask('light')).status === 200)
    await ask('medium', 900)
    await until(async () => (await shedding.ask('medium')).status === 503)
    const published = await redisWindows(database.url, 'tollgate:')
    t.after(() => published.close())
    await until(async () => (await published.read()).overloads.some(({ share, refused }) => share < 1 && refused > 0))
  })
})

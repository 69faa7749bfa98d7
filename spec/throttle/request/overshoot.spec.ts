// Use beyond the limit: carryOvershoot, the signal at two limits; and what event streams cost.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ThrottledError, budgetOf } from '../../../lib'
import { type Handling, heldApi } from './held-api'
import { until } from '../../support/until'

describe('throttle({ carryOvershoot })', () => {
  /** What the next window begins with, after one request of 1,600 ms and a charge. */
  async function carried(api: Awaited<ReturnType<typeof heldApi>>, chargedMs = 0): Promise<number | undefined> {
    await api.burst(1)
    budgetOf((api.running[0] as Handling).req).charge(chargedMs)
    api.clock.advance(1_600)
    api.endAll()
    assert.equal(await api.spentMs(), 1_600 + chargedMs)
    await api.enterNextWindow()
    return api.spentMs()
  }

  it('is off: a throttled condition ends with its window', async (t) => {
    const api = await heldApi(t)
    assert.equal(await carried(api), 0)
    const client = await api.open('/work')
    api.endAll()
    await until(() => client.text, /\r\nX-THROTTLE-MILLIS-USED: 0\r\n/i)
  })

  it('begins the next window with the time beyond the limit, measured or charged', async (t) => {
    const api = await heldApi(t, { carryOvershoot: true })
    assert.equal(await carried(api, 300), 900)
    await api.enterNextWindow()
    assert.equal(await api.spentMs(), 0)
  })

  it('carries what is more than a limit on to the window after', async (t) => {
    const api = await heldApi(t, { carryOvershoot: true })
    await api.burst(1)
    api.clock.advance(3_500)
    api.endAll()
    const begun = []
    for (let window = 0; window < 4; window++) {
      await api.enterNextWindow()
      begun.push(await api.spentMs())
    }
    assert.deepEqual(begun, [2_500, 1_500, 500, 0])
  })

  it('may be the route own', async (t) => {
    const routes = { '/work': { limitMs: 1_000, carryOvershoot: true } }
    const api = await heldApi(t, { routes })
    await api.burst(1)
    api.clock.advance(1_600)
    api.endAll()
    await api.enterNextWindow()
    const spent = (await api.throttled.usage('ada')).map(({ window, spentMs }) => [window, spentMs])
    assert.deepEqual(spent, [
      ['default', 0],
      ['/work', 600],
    ])
  })
})

describe('budgetOf().signal and a subject that exceeds its limit', () => {
  it('aborts with a ThrottledError when two limits are used', async (t) => {
    const { burst, clock, running, teachQuick } = await heldApi(t)
    await teachQuick()
    await burst(2)
    const signals = running.map(({ req }) => budgetOf(req).signal)
    clock.advance(999)
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [false, false],
    )
    clock.advance(126)
    for (const { aborted, reason } of signals) assert.ok(aborted && reason instanceof ThrottledError)
  })

  it('aborts for time that charge() added, too', async (t) => {
    const { burst, clock, running } = await heldApi(t)
    await burst(1)
    const budget = budgetOf((running[0] as Handling).req)
    const { signal } = budget
    budget.charge(1_000)
    clock.advance(999)
    assert.equal(signal.aborted, false)
    clock.advance(126)
    assert.ok(signal.reason instanceof ThrottledError)
  })
})

describe('throttle({ eventStreams })', () => {
  const TYPE = { 'Content-Type': 'text/event-stream' }
  const routes = {
    '/whole': { limitMs: 1_000, eventStreams: 'whole' },
    '/header': { limitMs: 1_000, eventStreams: 'header' },
  } as const

  for (const [title, options, path, method, costMs] of [
    ["'whole' charges a GET to its end", { eventStreams: 'whole' }, '/', 'GET', 130],
    ["'header' charges a POST to its header", { eventStreams: 'header' }, '/', 'POST', 30],
    ["'whole' may be the route own", { eventStreams: 'header', routes }, '/whole', 'GET', 130],
    ["'header' may be the route own", { eventStreams: 'whole', routes }, '/header', 'POST', 30],
  ] as const)
    it(title, async (t) => {
      const { clock, open, running, throttled } = await heldApi(t, options)
      await open(path, 'Content-Length: 0\r\n', method)
      const { res } = running[0] as Handling
      clock.advance(30)
      res.writeHead(200, TYPE).write('data: 1\n\n')
      clock.advance(100)
      res.end()
      const spent = (await throttled.usage('ada')).map(({ spentMs }) => spentMs)
      assert.equal(Math.max(...spent), costMs)
    })
})

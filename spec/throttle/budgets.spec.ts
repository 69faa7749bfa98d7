import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { manualClock } from '../../lib/testing'
import { GRANT_US, LEASE_US, type Report } from '../../lib/throttle/budget/report'
import { Budgets } from '../../lib/throttle/budgets'
import { StoreHealth } from '../../lib/throttle/store/health'
import type { ThrottleStore } from '../../lib/throttle/store/store'
import { reportFor } from '../support/report'
import { StoreModel } from './simulation/model'
import { SpecRequest } from './spec-request'

const LIMIT_US = 1_000_000
const WINDOW_US = 60_000_000
const TICK_MS = 125
const TERMS = { windowUs: WINDOW_US, carryOver: false, grantAhead: true }
/** In the middle of a window of each subject here, or near it. */
const DATE = Date.UTC(2026, 0, 1)

/** Budgets whose time and whose store are the spec's; without `isShared` it has no store. */
function budgetsOf({ isShared = true, living = 1 } = {}) {
  const clock = manualClock(DATE)
  /** Time passes in which no timer fires: the event loop is blocked. */
  let stalledMs = 0
  const server = {
    ...{ model: new StoreModel(), aheadUs: 0, process: '', reports: [] as Report[] },
    /** Refuses what it is asked; or writes reports, and its answers get lost, or are held up. */
    ...{ isDown: false, losesAnswers: false, heldUp: Promise.resolve() },
  }
  const time = () => Math.round(clock.date() * 1_000) + stalledMs * 1_000 + server.aheadUs
  const answer = <T>(make: () => T) => {
    if (server.isDown) return Promise.reject(new Error('down'))
    return Promise.resolve(make())
  }
  const only = {
    name: undefined,
    report: (_policy: string, process: string, reports: readonly Report[]) => {
      server.process = process
      server.reports.push(...reports)
      const answers = answer(() => reports.map((report) => server.model.report(process, report, time())))
      return server.losesAnswers
        ? answers.then(() => Promise.reject(new Error('lost')))
        : server.heldUp.then(() => answers)
    },
    beat: () => answer(() => ({ time: time(), living, token: '' })),
  }
  const store = { serverOf: () => only, watch: () => undefined, close: () => Promise.resolve() } as ThrottleStore
  const stalling = { ...clock, now: () => clock.now() + stalledMs, date: () => clock.date() + stalledMs }
  const budgets = new Budgets('default', TERMS, stalling, isShared ? StoreHealth.of(store, stalling) : undefined)
  const now = () => Math.round(stalling.now() * 1_000)
  /** What is due is sent, and answered. */
  const settle = async (ms = 0) => {
    for (let i = 0; i < 4; i++) {
      clock.advance(i === 0 ? ms : 0)
      await setImmediate()
    }
  }
  const ask = (price: number | (() => number), limitUs = LIMIT_US, waitUs = 0, clientWaitUs = Infinity) => {
    const terms = { limitUs, waitUs, clientWaitUs }
    return new SpecRequest(budgets, 'ada', now(), { price: typeof price === 'number' ? () => price : price, ...terms })
  }
  const start = (asked: SpecRequest): SpecRequest => {
    assert.ok(asked.hasBegun, 'the request was let in')
    return asked.start(now())
  }
  /** Another process reports. */
  const other = (more: Partial<Report>) => {
    const { id, number, start: starts, end: ends } = budgets.account('ada', now())
    const figures = reportFor({ id, number, starts, ends, limit: LIMIT_US, ...more })
    return server.model.report('other', figures, time())
  }
  return { clock, budgets, server, settle, ask, start, now, other, stall: (ms: number) => (stalledMs += ms) }
}

describe('Budgets over a store', () => {
  /** Twenty requests come one after the other; at the next tick the store grants as much time ahead. */
  async function granted() {
    const t = budgetsOf()
    await t.settle()
    for (let i = 0; i < 20; i++) {
      const asked = t.ask(1_000)
      await t.settle()
      t.start(asked).finish(t.now())
    }
    await t.settle(TICK_MS)
    const { grant } = t.budgets.account('ada', t.now())
    assert.ok(grant.us >= 20_000 && grant.places > 0, JSON.stringify(grant))
    return t
  }

  it('starts requests that follow each other from one grant, and reports none of them', async () => {
    const { ask, start, now, server } = await granted()
    const before = server.reports.length
    for (let i = 0; i < 20; i++) start(ask(1_000)).finish(now())
    assert.equal(server.reports.length, before)
  })

  /** A subject comes a second after the request before. */
  async function come({ ask, start, settle, now }: ReturnType<typeof budgetsOf>, priceUs: number) {
    for (let i = 0; i < 20; i++) await settle(50)
    const asked = ask(priceUs)
    await settle()
    start(asked).finish(now())
  }

  it('starts two requests of a subject that comes again from its standing grant, and reports neither', async () => {
    const t = budgetsOf()
    await t.settle()
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    const before = t.server.reports.length
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    assert.equal(t.server.reports.length, before)
  })

  for (const [title, priceUs, others, wishes] of [
    ['two small prices and one place', 1_000, {}, [2_000, 1]],
    ['nothing where the price is large', 11_000, {}, [0, 0]],
    ['nothing where more than half of the budget is used', 1_000, { used: 0.6 * LIMIT_US }, [0, 0]],
    ['nothing where more than half of the places are', 1_000, { running: 20, lasts: WINDOW_US }, [0, 0]],
  ] as const)
    it(`wishes ahead for a subject that comes again: ${title}`, async () => {
      const t = budgetsOf()
      await t.settle()
      t.other(others)
      for (let i = 0; i < 2; i++) await come(t, priceUs)
      const { wish, wishPlaces } = t.server.reports.at(-1) as Report
      assert.deepEqual([wish, wishPlaces], wishes)
    })

  it('starts no request from a grant that was asked for under a higher limit', async () => {
    const { ask, settle } = await granted()
    const asked = ask(1_000, LIMIT_US / 2)
    assert.equal(asked.end, undefined)
    await settle()
    assert.ok(asked.hasBegun, 'the store lets it in')
  })

  it('starts no request from a grant whose lease ended while the event loop was blocked', async () => {
    const { ask, stall } = await granted()
    stall(GRANT_US / 1_000 + 100)
    assert.equal(ask(1_000).end, undefined)
  })

  it('loses what it was granted ahead when the lease of its last report ends', async () => {
    const { server, clock, other } = await granted()
    const most = { running: 1, want: LIMIT_US - 10_000, count: 1, unit: LIMIT_US - 10_000 }
    server.isDown = true // as if it had been killed: nothing more is heard of it
    clock.advance(GRANT_US / 1_000)
    assert.equal(other({ seq: 1, ...most }).figures?.granted, 0, 'it may still start requests from its grant')
    clock.advance((LEASE_US - GRANT_US) / 1_000 + 100)
    assert.equal(other({ seq: 2, stored: 1, ...most }).figures?.granted, LIMIT_US - 10_000)
  })

  it('lets in who waits as soon as a request ends, without a tick', async () => {
    const { ask, start, settle, now } = budgetsOf()
    await settle()
    const first = ask(LIMIT_US)
    await settle()
    const hold = start(first)
    const waits = ask(LIMIT_US / 2, LIMIT_US, 5_000_000)
    await settle(10)
    assert.equal(waits.end, undefined)
    hold.finish(now())
    await settle()
    assert.ok(waits.hasBegun)
  })

  it('asks for a request that came while a report was under way as soon as that is answered', async () => {
    const { ask, settle, clock } = budgetsOf()
    await settle()
    const first = ask(1_000)
    clock.advance(0) // it is sent
    const second = ask(1_000)
    await settle()
    assert.ok([first, second].every(({ hasBegun }) => hasBegun))
  })

  it('starts as many of a line at once as there are places', async () => {
    const { ask, settle } = budgetsOf()
    await settle()
    const line = Array.from({ length: 40 }, () => ask(1_000, LIMIT_US, 5_000_000))
    await settle()
    assert.equal(line.filter(({ hasBegun }) => hasBegun).length, 32)
  })

  it('tells at a tick that a request is over which ended long before it should have', async () => {
    const { ask, settle, budgets, server, now } = budgetsOf()
    await settle()
    const asked = [ask(1_000)]
    for (let i = 0; i < 12; i++) await settle(25)
    asked.push(ask(1_000)) // while the time of the first stands still
    await settle()
    for (const each of asked) each.finish(now()) // within the tolerance
    for (let i = 0; i < 12; i++) await settle(25)
    const { id, number } = budgets.account('ada', now())
    const fields = [...(server.model.hash(id, number)?.fields.values() ?? [])]
    assert.deepEqual(
      fields.map(({ held, runs }) => [held, runs]),
      [[0, 0]],
    )
  })

  it('takes an answer that comes while the event loop is blocked for no outage', async () => {
    const { ask, settle, budgets, server, now, stall, clock } = budgetsOf()
    await settle()
    let answers = () => {}
    server.heldUp = new Promise((resolve) => (answers = resolve))
    const asked = ask(1_000)
    await settle()
    stall(500)
    clock.advance(70) // timers come first
    clock.advance(0)
    answers()
    await settle()
    assert.ok(asked.hasBegun)
    assert.ok(!budgets.account('ada', now()).server.isDown)
  })

  it('starts nothing from the answer to a report that was given up', async () => {
    const { ask, settle, budgets, server, start, now } = budgetsOf()
    await settle()
    let letGo = () => {}
    server.heldUp = new Promise((resolve) => (letGo = resolve))
    const asked = ask(1_000)
    for (let i = 0; i < 15; i++) await settle(5)
    start(asked) // by this process's own figures
    assert.equal(budgets.account('ada', now()).server.isDown, false, 'one deadline was missed')
    letGo()
    await settle()
    assert.equal(ask(1_000).end, undefined)
  })

  it('prices those who wait anew with each report', async () => {
    const { ask, start, settle } = budgetsOf()
    await settle()
    const first = ask(LIMIT_US / 2)
    await settle()
    start(first)
    let priceUs = LIMIT_US
    const waits = ask(() => priceUs, LIMIT_US, 5_000_000)
    await settle()
    assert.equal(waits.end, undefined)
    priceUs = 1_000
    for (let i = 0; i < 8; i++) await settle(25)
    assert.ok(waits.hasBegun)
  })

  it('counts no more than two years, whatever is charged', async () => {
    const { settle, budgets, now, other, ask } = budgetsOf()
    await settle()
    const account = budgets.account('ada', now())
    const dayUs = 86_400_000_000
    for (const us of [dayUs, 2 ** 45, 2 ** 53, 2 ** 53, Number.MAX_SAFE_INTEGER]) void budgets.charge(account, us)
    for (let i = 0; i < 12; i++) await settle(25)
    const { figures } = other({})
    assert.deepEqual([figures?.used, figures?.added], [2 ** 46, 2 ** 46])
    assert.equal(ask(1).end, 'spent')
    void budgets.reset(account)
    for (let i = 0; i < 12; i++) await settle(25)
    assert.equal(other({ seq: 2 }).figures?.used, 0)
  })

  it('tells the strain that another process reported', async () => {
    const { ask, settle, server, other } = budgetsOf()
    await settle()
    other({ strain: 400 })
    ask(1_000)
    await settle()
    ask(1_000)
    await settle()
    assert.equal(server.reports.at(-1)?.strain, 400)
  })

  it('tells waits for clients while they go on', async () => {
    const { ask, start, settle, server, now } = budgetsOf()
    await settle()
    const first = ask(LIMIT_US / 2)
    await settle()
    start(first).awaitClient(now())
    for (let i = 0; i < 12; i++) await settle(25)
    assert.ok((server.reports.at(-1)?.excused ?? 0) >= TICK_MS * 1_000)
  })

  it('excuses its share of the cap for waits, and tells them when half of that is used', async () => {
    const { ask, start, settle, budgets, server, now } = budgetsOf({ living: 4 })
    await settle(1_500) // a heartbeat tells that four live
    const capUs = 400_000
    const first = ask(1_000, LIMIT_US, 0, capUs)
    await settle()
    const before = server.reports.length
    start(first).awaitClient(now())
    await settle(40)
    assert.equal(server.reports.length, before, 'less than half of 100 ms')
    const { own } = budgets.account('ada', now())
    for (let i = 0; i < 3; i++) await settle(TICK_MS)
    const told = server.reports.at(-1)?.excused ?? 0
    assert.ok(told >= capUs / 8, `${told} µs were told`)
    server.isDown = true // nothing more is heard of the others
    for (let i = 0; i < 40; i++) await settle(25)
    budgets.account('ada', now())
    const most = told + (capUs - told) / 4
    assert.ok(own.excusedUs(now()) <= most + 30_000, `${own.excusedUs(now())} µs, share ${most}`)
  })

  it('leaves what another process has ahead to it, but for a request that never fits beside anything', async () => {
    const { ask, settle, other, now } = budgetsOf()
    await settle()
    const { figures } = other({ wish: LIMIT_US, wishPlaces: 2 })
    assert.equal(figures?.ahead, LIMIT_US / 2)
    const first = ask(1_000)
    await settle()
    first.start(now()).finish(now() + 1_000)
    let priceUs = LIMIT_US * 0.75
    const waits = ask(() => priceUs, LIMIT_US, 5_000_000)
    for (let i = 0; i < 12; i++) await settle(25)
    assert.ok(!waits.hasBegun, 'it would fit but for that time')
    priceUs = LIMIT_US
    for (let i = 0; i < 12; i++) await settle(25)
    assert.ok(waits.hasBegun)
  })

  it("enters the window that is open by the server's clock where its own is late", async () => {
    const { ask, settle, budgets, server, now, clock } = budgetsOf()
    await settle()
    const { id, number, end } = budgets.account('ada', now())
    server.aheadUs = Math.ceil(end - clock.date() * 1_000) + 1_000
    const asked = ask(1_000)
    await settle()
    assert.ok(asked.hasBegun)
    assert.equal(asked.hold.number, number + 1)
    assert.equal(server.model.hash(id, number), undefined)
  })

  /** Closes a process, and says what the store has of it, and what its requests used. */
  async function closed({ budgets, settle, server, clock, now }: ReturnType<typeof budgetsOf>, late?: Report) {
    const { id, number, own } = budgets.account('ada', now())
    const used = own.usedUs(now())
    const closing = budgets.close().then(() => true)
    const isClosed = () => Promise.race([closing, Promise.resolve(false)])
    for (let i = 0; i < 400 && !(await isClosed()); i++) {
      await settle(10)
      server.losesAnswers = false
    }
    if (late) server.model.report(server.process, late, Math.round(clock.date() * 1_000))
    return [server.model.hash(id, number)?.sums.used, used]
  }

  it('counts a closed process once where the answer to its closing report is lost', async () => {
    const t = budgetsOf()
    await t.settle()
    const asked = t.ask(10_000)
    await t.settle()
    t.start(asked).finish(t.now() + 20_000)
    await t.settle(2 * TICK_MS)
    t.server.losesAnswers = true
    assert.deepEqual(await closed(t), [20_000, 20_000])
  })

  it('counts a closed process once where a report that was given up is done after all', async () => {
    const t = budgetsOf()
    await t.settle()
    t.server.losesAnswers = true
    const asked = t.ask(10_000)
    for (let i = 0; i < 4; i++) await t.settle(25)
    t.start(asked).finish(t.now() + 20_000)
    const given = () => t.server.reports.find(({ used }) => used > 0)
    for (let i = 0; i < 40 && given() === undefined; i++) await t.settle(25)
    t.server.losesAnswers = false
    for (let i = 0; i < 40; i++) await t.settle(25)
    assert.equal(given()?.stored, 0)
    assert.deepEqual(await closed(t, given()), [20_000, 20_000])
  })

  it('goes back to an earlier window where the clock of the server is set back by more than half of one', async () => {
    const { ask, start, settle, budgets, server, now } = budgetsOf()
    await settle()
    const first = ask(LIMIT_US)
    await settle()
    start(first).finish(now() + 2 * LIMIT_US)
    await settle(200)
    const { number } = budgets.account('ada', now())
    server.aheadUs = -10 * WINDOW_US
    for (let ms = 0; ms < 1_000; ms += 50) await settle(50) // a heartbeat
    const again = ask(1_000)
    await settle()
    start(again)
    assert.ok(budgets.account('ada', now()).number < number)
    assert.ok(budgets.account('ada', now()).endsInUs(now()) <= WINDOW_US)
  })

  it('stays in the window that it has entered where the clock of the server is set back by less', async () => {
    const { ask, start, settle, budgets, server, now, clock } = budgetsOf()
    await settle()
    const first = ask(LIMIT_US)
    await settle()
    start(first).finish(now() + 2 * LIMIT_US)
    await settle(200)
    const { number, end } = budgets.account('ada', now())
    const toEndMs = Math.ceil(end / 1_000 - clock.date())
    for (let ms = 0; ms < toEndMs + 50; ms += 50) await settle(50)
    ask(1_000)
    await settle()
    assert.equal(budgets.account('ada', now()).number, number + 1)
    server.aheadUs = -2_000_000
    for (let ms = 0; ms < 1_000; ms += 50) await settle(50) // a heartbeat
    const reports = server.reports.length
    const alone = ask(1_000, LIMIT_US, 5_000_000)
    await settle()
    start(alone) // by this process's own figures: the server does not know the window yet
    assert.equal(server.reports.length, reports + 1)
    assert.equal(budgets.account('ada', now()).number, number + 1)
  })
})

describe('Budgets whose clock is a little ahead of the server', () => {
  it('waits for the server at a window’s start, and does not decide alone', async () => {
    const { ask, settle, budgets, server, now, clock } = budgetsOf()
    await settle()
    const { end } = budgets.account('ada', now())
    for (let left = Math.ceil(end / 1_000 - clock.date()) + 5; left > 0; left -= 50) await settle(Math.min(50, left))
    server.aheadUs = -20_000
    const asked = ask(1_000, LIMIT_US, 5_000_000)
    await settle()
    assert.equal(asked.end, undefined)
    for (let i = 0; i < 8; i++) await settle(25)
    const { id, number } = budgets.account('ada', now())
    assert.equal(server.model.hash(id, number)?.sums?.held, 1_000)
    assert.ok(asked.hasBegun)
  })
})

describe('Budgets of a process that starts', () => {
  it('asks about its first requests as soon as the store has answered: others may have used all', async () => {
    const { ask, settle, other } = budgetsOf()
    other({ used: LIMIT_US + 1 })
    const asked = ask(1_000)
    assert.equal(asked.end, undefined)
    await settle(25)
    await settle(25)
    assert.equal(asked.end, 'spent')
  })

  it('decides alone after the deadline where no answer comes', async () => {
    const { ask, settle, server } = budgetsOf()
    server.isDown = true
    const asked = ask(1_000)
    await settle(60)
    assert.equal(asked.end, undefined)
    await settle(25)
    assert.ok(asked.hasBegun)
  })
})

describe('Budgets whose store does not answer', () => {
  /** One of four processes, which has just heard of nothing that others used. */
  async function cutOff() {
    const t = budgetsOf({ living: 4 })
    await t.settle()
    t.server.isDown = true
    await t.settle(1_000) // the next heartbeat fails
    for (let i = 0; i < 20; i++) await t.settle(20)
    return t
  }
  const hasBegun = (asked: SpecRequest) => asked.hasBegun

  it('lets a quarter of the places be used where four processes live', async () => {
    const { ask } = await cutOff()
    assert.equal(Array.from({ length: 40 }, () => ask(0)).filter(hasBegun).length, 32 / 4)
  })

  it('lets a request run alone that needs more than is left of its share, once the outage lasts for a second', async () => {
    const { ask, settle } = await cutOff()
    assert.equal(hasBegun(ask(LIMIT_US / 2)), false)
    await settle(1_100)
    assert.deepEqual([ask(LIMIT_US / 2), ask(LIMIT_US / 2)].map(hasBegun), [true, false])
  })

  for (const priceUs of [1_000, LIMIT_US / 10, LIMIT_US / 2])
    it(`gives a user who asks one by one no more than the share and one request: price ${priceUs} µs`, async () => {
      const { ask, settle, start, now, budgets } = await cutOff()
      await settle(1_100)
      let asked = ask(priceUs, LIMIT_US, 5_000_000)
      for (; asked.hasBegun; asked = ask(priceUs, LIMIT_US, 5_000_000)) {
        start(asked).finish(now() + 100_000)
        await settle(100)
      }
      assert.equal(asked.end, 'outage')
      const used = budgets.account('ada', now()).usedUs(now())
      assert.ok(used >= LIMIT_US / 4 && used < LIMIT_US / 4 + 100_000, `${used}`)
    })

  it('reports time that no request took when the store answers again', async () => {
    const { budgets, server, settle } = await cutOff()
    const told = () => server.reports.filter(({ subject }) => subject === 'charged').map(({ used }) => used)
    void budgets.charge(budgets.account('charged'), LIMIT_US)
    await settle(1_000)
    assert.deepEqual(told(), [])
    server.isDown = false
    for (let i = 0; i < 20; i++) await settle(TICK_MS)
    assert.deepEqual(told(), [LIMIT_US])
  })
})

describe('Budgets without a store', () => {
  it('decides those who wait as soon as a request ends', () => {
    const { ask, start, now } = budgetsOf({ isShared: false })
    const hold = start(ask(LIMIT_US))
    const waits = ask(LIMIT_US, LIMIT_US, 5_000_000)
    assert.equal(waits.end, undefined)
    hold.finish(now())
    assert.ok(waits.hasBegun)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { manualClock } from '../../lib/testing'
import type { Applicant, Decision, Verdict } from '../../lib/throttle/account/decide'
import type { Hold } from '../../lib/throttle/account/hold'
import { Ledger } from '../../lib/throttle/ledger'
import { StoreHealth } from '../../lib/throttle/sync/health'
import type { Report, ThrottleStore } from '../../lib/throttle/sync/store'
import { StoreModel } from './simulation/model'

const LIMIT_US = 1_000_000
const WINDOW_US = 60_000_000
const TICK_MS = 125
const TERMS = { windowUs: WINDOW_US, carryOver: false, grantAhead: true }
/** In the middle of a window of each subject here, or near it. */
const DATE = Date.UTC(2026, 0, 1)

/** What becomes of a request; undefined while it waits. */
interface Asked {
  decision?: Decision
}

/** A ledger whose time and whose store are the spec's; without `isShared` it has no store. */
function ledgerOf({ isShared = true, living = 1 } = {}) {
  const clock = manualClock(DATE)
  /** Time passes in which no timer fires: the event loop is blocked. */
  let stalledMs = 0
  const server = { model: new StoreModel(), aheadUs: 0, isDown: false, reports: [] as Report[] }
  const time = () => Math.round(clock.date() * 1_000) + stalledMs * 1_000 + server.aheadUs
  const answer = <T>(made: () => T) => (server.isDown ? Promise.reject(new Error('down')) : Promise.resolve(made()))
  const only = {
    name: undefined,
    report: (_policy: string, process: string, reports: readonly Report[]) => {
      server.reports.push(...reports)
      return answer(() => reports.map((report) => server.model.report(process, report, time())))
    },
    beat: () => answer(() => ({ time: time(), living, token: '' })),
  }
  const store = { serverOf: () => only, watch: () => undefined, close: () => Promise.resolve() } as ThrottleStore
  const stalling = { ...clock, now: () => clock.now() + stalledMs, date: () => clock.date() + stalledMs }
  const ledger = new Ledger('default', TERMS, stalling, isShared ? StoreHealth.of(store, stalling) : undefined)
  const now = () => Math.round(stalling.now() * 1_000)
  /** What is due is sent, and answered. */
  const settle = async (ms = 0) => {
    for (let i = 0; i < 4; i++) {
      clock.advance(i === 0 ? ms : 0)
      await setImmediate()
    }
  }
  const ask = (priceUs: number, limitUs = LIMIT_US, waitUs = 0): Asked => {
    const asked: Asked = {}
    const applicant: Applicant = {
      ...{ limitUs, isGone: false, wait: { maxUs: waitUs, perSubject: 100 }, price: () => priceUs },
      decided: (decision) => (asked.decision = decision),
    }
    const verdict: Verdict = ledger.admit('ada', applicant, now())
    if (!('waiter' in verdict)) asked.decision = verdict
    return asked
  }
  const start = ({ decision }: Asked): Hold => {
    assert.ok(decision && 'hold' in decision, 'the request was let in')
    ledger.start(decision.hold, now())
    return decision.hold
  }
  return { clock, ledger, server, settle, ask, start, now, stall: (ms: number) => (stalledMs += ms) }
}

describe('Ledger over a store', () => {
  /** Twenty requests come one after the other; at the next tick the store grants as much time ahead. */
  async function granted() {
    const t = ledgerOf()
    await t.settle()
    for (let i = 0; i < 20; i++) {
      const asked = t.ask(1_000)
      await t.settle()
      t.ledger.end(t.start(asked), t.now())
    }
    await t.settle(TICK_MS)
    const { grant } = t.ledger.account('ada', t.now())
    assert.ok(grant.us >= 20_000 && grant.places > 0, JSON.stringify(grant))
    return t
  }

  it('starts requests that follow each other from one grant, and reports none of them', async () => {
    const { ask, start, ledger, now, server } = await granted()
    const before = server.reports.length
    for (let i = 0; i < 20; i++) ledger.end(start(ask(1_000)), now())
    assert.equal(server.reports.length, before)
  })

  it('starts no request from a grant that was asked for under a higher limit', async () => {
    const { ask, settle } = await granted()
    const asked = ask(1_000, LIMIT_US / 2)
    assert.equal(asked.decision, undefined)
    await settle()
    assert.ok(asked.decision && 'hold' in asked.decision, 'the store lets it in')
  })

  it('starts no request from a grant whose lease ended while the event loop was blocked', async () => {
    const { ask, stall } = await granted()
    stall(1_100)
    assert.equal(ask(1_000).decision, undefined)
  })

  it('stays in the window that it has entered where the clock of the server is set back', async () => {
    const { ask, start, settle, ledger, server, now, clock } = ledgerOf()
    await settle()
    const first = ask(LIMIT_US)
    await settle()
    ledger.end(start(first), now() + 2 * LIMIT_US)
    await settle(200)
    const { number, end, id } = ledger.account('ada', now())
    const toEndMs = Math.ceil(end / 1_000 - clock.date())
    for (let ms = 0; ms < toEndMs + 50; ms += 50) await settle(50)
    ask(1_000)
    await settle()
    assert.equal(ledger.account('ada', now()).number, number + 1)
    server.aheadUs = -2_000_000
    await settle(1_000) // a heartbeat
    ask(1_000)
    await settle()
    assert.equal(ledger.account('ada', now()).number, number + 1)
    assert.ok((server.model.hash(id, number)?.sums?.used ?? 0) >= 2 * LIMIT_US)
  })
})

describe('Ledger whose store does not answer', () => {
  /** One of four processes, which has just heard of nothing that others used. */
  async function cutOff() {
    const t = ledgerOf({ living: 4 })
    await t.settle()
    t.server.isDown = true
    await t.settle(1_000)
    return t
  }
  const hasBegun = ({ decision }: Asked) => decision !== undefined && 'hold' in decision

  it('lets a quarter of the places be used where four processes live', async () => {
    const { ask } = await cutOff()
    assert.equal(Array.from({ length: 40 }, () => ask(0)).filter(hasBegun).length, 32 / 4)
  })

  it('lets one request at a time run beyond its share, once the outage lasts for a second', async () => {
    const { ask, settle } = await cutOff()
    assert.equal(hasBegun(ask(LIMIT_US / 2)), false)
    await settle(1_100)
    assert.deepEqual([ask(LIMIT_US / 2), ask(LIMIT_US / 2)].map(hasBegun), [true, false])
  })
})

describe('Ledger without a store', () => {
  it('decides those who wait as soon as a request ends', () => {
    const { ask, start, ledger, now } = ledgerOf({ isShared: false })
    const hold = start(ask(LIMIT_US))
    const waits = ask(LIMIT_US, LIMIT_US, 5_000_000)
    assert.equal(waits.decision, undefined)
    ledger.end(hold, now())
    assert.ok(waits.decision && 'hold' in waits.decision)
  })
})

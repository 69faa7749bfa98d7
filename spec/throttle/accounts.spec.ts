// The accounts of lib/throttle/store/accounts.ts over a store: what they report, what they start from a grant, and what
// they decide alone. Store and time are the spec's own. What many of them do together: simulation.spec.ts
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it } from 'node:test'
import type { Request } from 'express'
import { GRACE_US, GRANT_US, LEASE_US, PARKED_US, type Report } from '../../lib/throttle/budget/report'
import { charge, finish, reset } from '../../lib/throttle/budget/decide'
import { LIMIT_US, TICK_MS, WINDOW_US, accountsOf, openAccounts } from './spec-accounts'
import { SpecRequest } from './spec-request'
import { assertIs, atLeast, atMost, below, above } from '../support/until'

/** A subject comes a second after the request before. */
async function come({ begin, settle, now }: ReturnType<typeof accountsOf>, priceUs: number) {
  for (let i = 0; i < 20; i++) await settle(50)
  const asked = await begin(priceUs)
  asked.finish(now())
}

describe('Accounts over a store', () => {
  /** Twenty requests come one after the other; at the next tick the store grants as much time ahead. */
  async function granted() {
    const t = await openAccounts()
    for (let i = 0; i < 20; i++) {
      const asked = await t.begin(1_000)
      asked.finish(t.now())
    }
    await t.settle(TICK_MS)
    const { grant } = t.accounts.account('ada', t.now())
    assert.ok(grant.us >= 20_000 && grant.places > 0, JSON.stringify(grant))
    return t
  }

  it('tells how long the store took to answer', async (t) => {
    const { accounts, server, settle } = await openAccounts()
    const heard: unknown[] = []
    const hear = (message: unknown) => heard.push(message)
    subscribe('express-tollgate:synced', hear)
    t.after(() => unsubscribe('express-tollgate:synced', hear))
    const letGo = server.holdUp()
    void accounts.refresh('ada')
    await settle()
    await settle(20)
    letGo()
    await settle()
    assert.deepEqual(heard, [{ window: 'default', latencyMs: 20 }])
  })

  it('starts two requests of a subject that comes again from its standing grant, and reports neither', async () => {
    const t = await openAccounts()
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    const before = t.server.reports.length
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    assert.equal(t.server.reports.length, before)
  })

  it('asks ahead at once for a subject that came in a row before its pause', async () => {
    const t = await openAccounts()
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    await t.pass((2 * GRANT_US) / 1_000)
    await come(t, 1_000)
    const before = t.server.reports.length
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    assert.equal(t.server.reports.length, before)
  })

  for (const [title, priceUs, others, asked] of [
    ['two small prices and one place', 1_000, {}, [2_000, 1]],
    ['nothing where the price is large', 11_000, {}, [0, 0]],
    ['nothing where more than half of the budget is used', 1_000, { used: 0.6 * LIMIT_US }, [0, 0]],
    ['nothing where more than half of the places are', 1_000, { running: 20, runsForUs: WINDOW_US }, [0, 0]],
  ] as const)
    it(`asks ahead for a subject that comes again: ${title}`, async () => {
      const t = await openAccounts()
      t.other(others)
      for (let i = 0; i < 2; i++) await come(t, priceUs)
      const { askedAheadUs, askedAheadPlaces } = t.server.reports.at(-1) as Report
      assert.deepEqual([askedAheadUs, askedAheadPlaces], asked)
    })

  it('starts no request from a grant that was asked for under a higher limit', async () => {
    const { ask, settle } = await granted()
    const asked = ask(1_000, LIMIT_US / 2)
    assert.equal(asked.end, undefined)
    await settle()
    assert.ok(asked.hasBegun, 'the store lets it in')
  })

  it('starts nothing from a grant while a report gives it up', async () => {
    const t = await openAccounts()
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    void t.accounts.refresh('ada')
    t.clock.advance(0)
    assert.equal(t.ask(1_000).end, undefined)
  })

  it('starts nothing from a grant where what runs has used up the places since', async () => {
    const { ask, start, stall } = await granted()
    start(ask(1_000))
    stall(970)
    assert.equal(ask(1_000).end, undefined)
  })

  it('reports no request from a standing grant while it runs within its price', async () => {
    const { ask, start, settle, now, server, pass } = accountsOf()
    const come = async () => {
      await pass(1_000)
      const asked = ask(200_000, 60 * LIMIT_US)
      await settle()
      return start(asked)
    }
    for (let i = 0; i < 2; i++) (await come()).finish(now())
    await pass(1_000)
    const before = server.reports.length
    const hold = await come()
    await pass(175)
    hold.finish(now())
    assert.equal(server.reports.length, before)
  })

  it('reports a request once while it runs within its price', async () => {
    const { server, pass, begin } = await openAccounts()
    await begin(LIMIT_US / 2)
    await pass(400)
    assert.equal(server.reports.length, 1)
  })

  it('reports no hold of a request that runs longer than its price', async () => {
    const { server, pass, begin } = await openAccounts()
    await begin(10_000)
    await pass(400)
    const { used, held } = server.reports.at(-1) as Report
    assertIs(used, above(10_000))
    assert.equal(held, 0)
  })

  it('starts no request from a grant whose lease ended while the event loop was blocked', async () => {
    const { ask, stall } = await granted()
    stall(GRANT_US / 1_000 + 100)
    assert.equal(ask(1_000).end, undefined)
  })

  it('loses what it was granted ahead when the lease of its last report ends', async () => {
    const { server, clock, other } = await granted()
    const most = { running: 1, neededUs: LIMIT_US - 10_000, count: 1, firstNeededUs: LIMIT_US - 10_000 }
    server.isDown = true // as if it had been killed: nothing more is heard of it
    clock.advance(GRANT_US / 1_000)
    assert.equal(other({ seq: 1, ...most }).figures?.granted, 0, 'it may still start requests from its grant')
    clock.advance((LEASE_US - GRANT_US) / 1_000 + 100)
    assert.equal(other({ seq: 2, ...most }).figures?.granted, LIMIT_US - 10_000)
  })

  it('lets in who waits as soon as a request ends, without a tick', async () => {
    const { ask, settle, now, begin } = await openAccounts()
    const hold = await begin(LIMIT_US)
    const waits = ask(LIMIT_US / 2, LIMIT_US, 5_000_000)
    await settle(10)
    assert.equal(waits.end, undefined)
    hold.finish(now())
    await settle()
    assert.ok(waits.hasBegun)
  })

  it('tells at a tick that a request is over which ended long before it should have', async () => {
    const { ask, settle, accounts, server, now, pass } = await openAccounts()
    const asked = [ask(1_000)]
    await pass(300)
    asked.push(ask(1_000)) // while the time of the first stands still
    await settle()
    for (const each of asked) each.finish(now()) // within the tolerance
    await pass(300)
    const { id, number } = accounts.account('ada', now())
    const fields = [...(server.model.hash(id, number)?.fields.values() ?? [])]
    assert.deepEqual(
      fields.map(({ held, runs }) => [held, runs]),
      [[0, 0]],
    )
  })

  it('tells at a tick that a request is over beside one that runs on', async () => {
    const { ask, start, settle, now, other, pass } = await openAccounts()
    const [long, short] = [ask(LIMIT_US / 2), ask(10_500)] // no more is granted ahead
    await settle()
    start(long)
    start(short).finish(now() + 1_000) // within the tolerance
    await pass(150)
    assert.equal(other({}).figures?.running, 1)
  })

  it('tells at a tick that a request was written off, and a reset', async () => {
    const { ask, start, settle, now, other, pass } = await openAccounts()
    other({ strain: 400, past: 'news' })
    const asked = ask(LIMIT_US / 2)
    await settle()
    start(asked).hold.account.writeOff(LIMIT_US, now())
    await pass(150)
    assert.equal(other({ seq: 2 }).figures?.unseen, LIMIT_US / 4)
    void reset(asked.hold.account, now())
    await settle()
    const { unseen, strain } = other({ seq: 3 }).figures ?? {}
    assert.deepEqual([unseen, strain], [0, 100])
  })

  it('asks again after two seconds about a subject that it refuses: another process may have reset it', async () => {
    const { ask, settle, other, pass } = await openAccounts()
    other({ used: 2 * LIMIT_US })
    const asked = ask(1_000)
    await settle()
    assert.equal(asked.end, 'spent')
    other({ seq: 2 })
    assert.equal(ask(1_000).end, 'spent')
    await pass(2_000)
    const again = ask(1_000)
    await settle()
    assert.ok(again.hasBegun)
  })

  it('asks ten times a second at most for a line whose record cannot be read', async () => {
    const { ask, start, settle, server, pass } = await openAccounts()
    server.isDamaged = true
    const asked = ask(LIMIT_US)
    await settle()
    start(asked) // by this process's own figures
    const waits = ask(LIMIT_US, LIMIT_US, 5_000_000)
    await pass(900)
    assert.equal(waits.end, undefined)
    assertIs(server.reports.length, atMost(20), `${server.reports.length} reports`)
  })

  it('answers who asks for the figures of a subject that is at rest, however late', async () => {
    const { accounts, settle, server, other, now } = accountsOf()
    other({ used: 1_000 })
    accounts.account('eve') // accounts are looked at, to let go of them, every 100 ms from now on
    await settle(50)
    const answers = server.holdUp()
    for (const subject of ['bob', 'carl']) {
      void accounts.refresh(subject)
      await settle()
    }
    const late = accounts.refresh('ada')
    await settle(55)
    answers()
    await settle()
    assert.equal((await Promise.race([late, settle()]))?.usedUs(now()), 1_000)
  })

  it('ends every wait for figures where the server goes down while an earlier report is under way', async () => {
    const { accounts, settle, pass, server, now } = await openAccounts()
    let waiting = 0
    const wait = () => void (waiting++, accounts.refresh('ada').then(() => waiting--))
    server.failsBeats = true
    const answers = server.holdUp()
    for (let i = 0; i < 200 && !accounts.account('ada', now()).server.isDown; i++) {
      wait() // mostly for the report after the one under way
      await settle(10)
    }
    assert.ok(waiting > 1)
    answers()
    server.holdUp()
    await pass(200)
    assert.equal(waiting, 0)
  })

  it('takes an answer that comes while the event loop is blocked for no outage', async () => {
    const { ask, settle, accounts, server, now, stall, clock } = await openAccounts()
    const answers = server.holdUp()
    const asked = ask(1_000)
    await settle()
    stall(500)
    clock.advance(70) // timers come first
    clock.advance(0)
    answers()
    await settle()
    assert.ok(asked.hasBegun)
    assert.ok(!accounts.account('ada', now()).server.isDown)
  })

  it('starts nothing from the answer to a report that was given up', async () => {
    const { ask, settle, accounts, server, start, now } = await openAccounts()
    const letGo = server.holdUp()
    const asked = ask(1_000)
    for (let i = 0; i < 15; i++) await settle(5)
    start(asked) // by this process's own figures
    assert.equal(accounts.account('ada', now()).server.isDown, false, 'one deadline was missed')
    letGo()
    await settle()
    assert.equal(ask(1_000).end, undefined)
  })

  it('prices those who wait anew with each report', async () => {
    const { ask, settle, pass, begin } = await openAccounts()
    await begin(LIMIT_US / 2)
    let priceUs = LIMIT_US
    const waits = ask(() => priceUs, LIMIT_US, 5_000_000)
    await settle()
    assert.equal(waits.end, undefined)
    priceUs = 1_000
    await pass(200)
    assert.ok(waits.hasBegun)
  })

  it('counts no more than four years, whatever is charged', async () => {
    const { now, other, ask, pass, begin } = await openAccounts()
    const { hold } = await begin(0)
    finish(hold, now())
    const dayUs = 86_400_000_000
    for (const us of [dayUs, 2 ** 45, 2 ** 53, 2 ** 53, Number.MAX_SAFE_INTEGER]) void charge(hold, us, now())
    await pass(300)
    assert.equal(other({}).figures?.used, 2 ** 47)
    assert.equal(ask(1).end, 'spent')
    void reset(hold.account, now())
    await pass(300)
    assert.equal(other({ seq: 2 }).figures?.used, 0)
  })

  it('tells the strain that another process reported', async () => {
    const { ask, settle, server, other } = await openAccounts()
    other({ strain: 400 })
    ask(1_000)
    await settle()
    ask(1_000)
    await settle()
    assert.equal(server.reports.at(-1)?.strain, 400)
  })

  it('keeps the hold of a request that waits for its client, though time ahead is granted beside it', async () => {
    const t = await openAccounts()
    const waiting = await t.begin(LIMIT_US / 4)
    waiting.awaitClient(t.now())
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    const { grant } = t.accounts.account('ada', t.now())
    assert.ok(grant.isStanding && grant.us > 0, JSON.stringify(grant))
    await t.pass((PARKED_US + 2 * GRACE_US) / 1_000)
    const { figures } = t.other({ neededUs: LIMIT_US, count: 1, firstNeededUs: LIMIT_US })
    assert.deepEqual([figures?.used, figures?.held], [0, LIMIT_US / 4])
  })

  it('excuses its share of the cap for waits, and tells them when half of that is used', async () => {
    const { ask, start, settle, accounts, server, now, pass } = accountsOf({ living: 4 })
    await settle(1_500) // a heartbeat tells that four live
    const capUs = 400_000
    const first = ask(1_000, LIMIT_US, 0, capUs)
    await settle()
    const before = server.reports.length
    start(first).awaitClient(now())
    await settle(40)
    assert.equal(server.reports.length, before, 'less than half of 100 ms')
    const { own } = accounts.account('ada', now())
    for (let i = 0; i < 3; i++) await settle(TICK_MS)
    const told = server.reports.at(-1)?.excused ?? 0
    assertIs(told, atLeast(capUs / 8), `${told} µs were told`)
    server.isDown = true // nothing more is heard of the others
    await pass(1_000)
    accounts.account('ada', now())
    const most = told + (capUs - told) / 4
    assertIs(own.at(now()).excusedUs, atMost(most + 30_000), `${own.at(now()).excusedUs} µs, share ${most}`)
  })

  it('excuses no waits for clients once other processes have excused the cap', async () => {
    const { accounts, now, other, pass, begin } = await openAccounts()
    const capUs = 400_000
    other({ excused: capUs })
    const asked = await begin(1_000, LIMIT_US, 0, capUs)
    asked.awaitClient(now())
    await pass(300)
    assertIs(accounts.account('ada', now()).own.at(now()).excusedUs, below(10_000))
  })

  it('leaves what another process has ahead to it, but for a request that never fits beside anything', async () => {
    const { ask, settle, other, now, pass } = await openAccounts()
    const { figures } = other({ askedAheadUs: LIMIT_US, askedAheadPlaces: 2 })
    assert.equal(figures?.ahead, LIMIT_US / 2)
    const first = ask(1_000)
    await settle()
    first.start(now()).finish(now() + 1_000)
    let priceUs = LIMIT_US * 0.75
    const waits = ask(() => priceUs, LIMIT_US, 5_000_000)
    await pass(300)
    assert.ok(!waits.hasBegun, 'it would fit but for that time')
    priceUs = LIMIT_US
    await pass(300)
    assert.ok(waits.hasBegun)
  })

  it('tells what runs again to a server that has lost it and was connected to anew', async () => {
    const { begin, pass, server, accounts, now } = await openAccounts()
    await begin(0.9 * LIMIT_US)
    await pass(100)
    server.model.hashes.clear()
    server.model.token++
    server.connects()
    await pass(300)
    const { id, number } = accounts.account('ada', now())
    assert.equal(server.model.hash(id, number)?.sums.running, 1)
  })

  it('charges the window that is open where the wall clock of its process is set', async () => {
    const { accounts, begin, clock, now, other, pass, server } = await openAccounts()
    const { number } = accounts.account('ada', now())
    for (const hours of [1, -1]) {
      clock.setDate(clock.date() + hours * 3_600_000)
      server.aheadUs -= hours * 3_600_000_000 // the server's clock goes on
      const asked = await begin(10_000)
      await pass(100)
      asked.finish(now())
      await pass(1_500) // a heartbeat
    }
    assert.equal(accounts.account('ada', now()).number, number)
    assert.equal(other({}).figures?.used, 200_000)
  })

  it("enters the window that is open by the server's clock where its own is late", async () => {
    const { ask, settle, accounts, server, now, clock } = await openAccounts()
    const { id, number, end } = accounts.account('ada', now())
    server.aheadUs = Math.ceil(end - clock.date() * 1_000) + 1_000
    const asked = ask(1_000)
    await settle()
    assert.ok(asked.hasBegun)
    assert.equal(accounts.account('ada', now()).number, number + 1)
    assert.equal(server.model.hash(id, number), undefined)
  })

  /** Closes a process, and says what the store has of it, and what its requests used. */
  async function closed({ accounts, settle, server, clock, now }: ReturnType<typeof accountsOf>, late?: Report) {
    const { id, number, own } = accounts.account('ada', now())
    const used = own.at(now()).usedUs
    const closing = accounts.close().then(() => true)
    const isClosed = () => Promise.race([closing, Promise.resolve(false)])
    for (let i = 0; i < 400 && !(await isClosed()); i++) {
      await settle(10)
      server.losesAnswers = false
    }
    if (late) server.model.report(server.process, late, Math.round(clock.date() * 1_000))
    return [server.model.hash(id, number)?.sums.used, used]
  }

  it('tells a server its last figures also where it counts as down', async () => {
    const { accounts, server, settle, now, ask } = await openAccounts()
    const { hold } = ask(0)
    await settle()
    finish(hold, now())
    server.failsBeats = true
    for (let i = 0; i < 75; i++) await settle(20)
    const account = accounts.account('ada', now())
    assert.ok(account.server.isDown)
    void charge(hold, 20_000, now())
    const closed = accounts.close()
    for (let i = 0; i < 20; i++) await settle(20)
    await closed
    assert.equal(server.model.hash(account.id, account.number)?.sums.used, 20_000)
  })

  it('counts a closed process once where the answer to its closing report is lost', async () => {
    const t = await openAccounts()
    const asked = await t.begin(10_000)
    asked.finish(t.now() + 20_000)
    await t.settle(2 * TICK_MS)
    t.server.losesAnswers = true
    assert.deepEqual(await closed(t), [20_000, 20_000])
  })

  it('counts a closed process once where a report that was given up is done after all', async () => {
    const t = await openAccounts()
    t.server.losesAnswers = true
    const asked = t.ask(10_000)
    await t.pass(100)
    t.start(asked).finish(t.now() + 20_000)
    const given = () => t.server.reports.find(({ used }) => used > 0)
    for (let i = 0; i < 40 && given() === undefined; i++) await t.settle(25)
    t.server.losesAnswers = false
    await t.pass(1_000)
    assert.deepEqual(await closed(t, given()), [20_000, 20_000])
  })

  it('goes back to an earlier window where the clock of the server is set back by more than half of one', async () => {
    const { settle, accounts, server, now, begin } = await openAccounts()
    const first = await begin(LIMIT_US)
    first.finish(now() + 2 * LIMIT_US)
    await settle(200)
    const { number } = accounts.account('ada', now())
    server.aheadUs = -10 * WINDOW_US
    for (let ms = 0; ms < 1_000; ms += 50) await settle(50) // a heartbeat
    await begin(1_000)
    assertIs(accounts.account('ada', now()).number, below(number))
    assertIs(accounts.account('ada', now()).endsInUs(now()), atMost(WINDOW_US))
  })

  it('stays in the window that it has entered where the clock of the server is set back by less', async () => {
    const { ask, start, settle, accounts, server, now, clock, begin } = await openAccounts()
    const first = await begin(LIMIT_US)
    first.finish(now() + 2 * LIMIT_US)
    await settle(200)
    const { number, end } = accounts.account('ada', now())
    const toEndMs = Math.ceil(end / 1_000 - clock.date())
    for (let ms = 0; ms < toEndMs + 50; ms += 50) await settle(50)
    ask(1_000)
    await settle()
    assert.equal(accounts.account('ada', now()).number, number + 1)
    server.aheadUs = -2_000_000
    for (let ms = 0; ms < 1_000; ms += 50) await settle(50) // a heartbeat
    const reports = server.reports.length
    const alone = ask(1_000, LIMIT_US, 5_000_000)
    await settle()
    start(alone) // by this process's own figures: the server does not know the window yet
    assert.equal(server.reports.length, reports + 1)
    assert.equal(accounts.account('ada', now()).number, number + 1)
  })
})

describe('Accounts over a store, in the window that follows', () => {
  for (const [title, more] of [
    ['a hundredth of it', { used: 1.01 * LIMIT_US }],
    ['what a killed process held', { used: 0.71 * LIMIT_US, held: 0.3 * LIMIT_US, running: 1, runsForUs: 1_000 }],
  ] as const)
    it(`count what was used beyond the limit: ${title}`, async () => {
      const { other, nearEnd } = accountsOf()
      other({ ...more, carries: true })
      await nearEnd(100)
      assert.equal(other({ carries: true }).figures?.carried, LIMIT_US / 100)
    })

  it('let fewer run by what the user took in another process', async () => {
    const { ask, settle, other, nearEnd } = await openAccounts()
    other({ used: 8 * LIMIT_US })
    await nearEnd(100)
    const asked = Array.from({ length: 40 }, () => ask(0))
    await settle()
    assert.equal(asked.filter(({ hasBegun }) => hasBegun).length, 32 / 8)
  })

  it('leave their places to requests of other processes that run on, and are not heard of yet', async () => {
    const { ask, settle, other, nearEnd } = await openAccounts()
    other({ running: 31, runsForUs: 2 * WINDOW_US })
    await nearEnd(100)
    const asked = [ask(1_000), ask(1_000)]
    await settle()
    assert.deepEqual(
      asked.map(({ end }) => end),
      ['start', 'concurrency'],
    )
  })

  it('start nothing from what was granted before', async () => {
    const t = accountsOf()
    await t.nearEnd(-2_500)
    for (let i = 0; i < 2; i++) await come(t, 1_000)
    assertIs(t.accounts.account('ada', t.now()).grant.us, above(0))
    await t.nearEnd(100)
    assert.equal(t.ask(1_000).end, undefined)
  })

  it('refuse nobody by an answer about the window before', async () => {
    const { ask, settle, other, nearEnd, server } = accountsOf()
    await nearEnd(-20)
    other({ used: 2 * LIMIT_US })
    const answers = server.holdUp()
    const asked = ask(1_000)
    await settle()
    await nearEnd(20)
    answers()
    await settle()
    assert.equal(asked.end, 'start')
  })
})

describe('Accounts whose clock is a little ahead of the server', () => {
  it('waits for the server at a window’s start, and does not decide alone', async () => {
    const { ask, settle, accounts, server, now, clock, pass } = await openAccounts()
    const { end } = accounts.account('ada', now())
    for (let left = Math.ceil(end / 1_000 - clock.date()) + 5; left > 0; left -= 50) await settle(Math.min(50, left))
    server.aheadUs = -20_000
    const asked = ask(1_000, LIMIT_US, 5_000_000)
    await settle()
    assert.equal(asked.end, undefined)
    await pass(200)
    const { id, number } = accounts.account('ada', now())
    assert.equal(server.model.hash(id, number)?.sums?.held, 1_000)
    assert.ok(asked.hasBegun)
  })
})

describe('Accounts when a request ends, or its client has gone', () => {
  it('tell it at once where few places are left', async () => {
    const { ask, start, settle, server, now, other } = await openAccounts()
    other({ used: 0.8 * LIMIT_US })
    const asked = ask(1_000)
    await settle()
    const before = server.reports.length
    start(asked).finish(now())
    await settle()
    assert.equal(server.reports.length, before + 1)
  })

  it('give back at a tick what was granted to one who has gone', async () => {
    const { ask, settle, server, accounts, now } = await openAccounts()
    const asked = ask(1_000)
    asked.time.isGone = true
    await settle()
    for (let i = 0; i < 2; i++) await settle(TICK_MS)
    const { id, number } = accounts.account('ada', now())
    assert.equal(server.model.hash(id, number)?.sums.held, 0)
  })

  it('make strain of what it took in a window in which nobody asked', async () => {
    const { ask, start, now, accounts, nearEnd } = accountsOf({ isShared: false })
    await nearEnd(-100)
    const hold = start(ask(1_000))
    await nearEnd(0)
    await nearEnd(-WINDOW_US / 1_000 + 3_000)
    hold.finish(now())
    await nearEnd(10)
    assertIs(accounts.account('ada', now()).past.strain, above(200))
  })
})

describe('Accounts of a process that starts', () => {
  it('asks about its first requests as soon as the store has answered: others may have used all', async () => {
    const { ask, settle, other } = accountsOf()
    other({ used: LIMIT_US + 1 })
    const asked = ask(1_000)
    assert.equal(asked.end, undefined)
    await settle(25)
    await settle(25)
    assert.equal(asked.end, 'spent')
  })
})

describe('Accounts whose store does not answer', () => {
  /** One of four processes, which has just heard of nothing that others used. */
  async function cutOff(used = 0) {
    const t = await openAccounts({ living: 4 })
    t.other({ used })
    void t.accounts.refresh('ada')
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

  it('refuses at once where its share is used up, though nothing runs', async () => {
    const { ask, now } = await cutOff()
    ask(LIMIT_US / 4).start(now()).finish(now() + LIMIT_US / 4) // prettier-ignore
    assert.equal(ask(1_000, LIMIT_US, 5_000_000).end, 'outage')
  })

  for (const [when, part, atOnce, later] of [
    ['at once where all processes together have that left', 0.5, [true, false], [false, false]],
    ['else once the outage lasts for a second', 0.7, [false, false], [true, false]],
  ] as const)
    it(`lets one request run alone that needs more than is left of its share: ${when}`, async () => {
      const { ask, settle } = await cutOff(0.4 * LIMIT_US)
      const two = () => [ask(part * LIMIT_US), ask(part * LIMIT_US)].map(hasBegun)
      assert.deepEqual(two(), atOnce)
      await settle(1_100)
      assert.deepEqual(two(), later)
    })

  for (const [restUs, end] of [
    [1, 'start'],
    [0, 'outage'],
  ] as const)
    it(`decides at once about a request of 1 µs where ${restUs} µs of its share are left: ${end}`, async () => {
      const { ask, now } = await cutOff()
      const first = ask(0).start(now())
      void charge(first.hold, LIMIT_US / 4 - restUs, now())
      first.finish(now())
      assert.equal(ask(1, LIMIT_US, 5_000_000).end, end)
    })

  it('reports time that was charged meanwhile when the store answers again', async () => {
    const { accounts, server, settle, now } = await cutOff()
    const told = () => server.reports.filter(({ account }) => account.subject === 'charged').map(({ used }) => used)
    const asked = new SpecRequest(accounts, 'charged', now())
    asked.start(now()).finish(now())
    void charge(asked.hold, LIMIT_US, now())
    await settle(1_000)
    assert.deepEqual(told(), [])
    server.isDown = false
    for (let i = 0; i < 20; i++) await settle(TICK_MS)
    assert.deepEqual(told(), [LIMIT_US])
  })
})

describe('Accounts without a store', () => {
  /** How many requests may run in the next window, of a subject that used four limits and was away for 15 s. */
  async function placesAfter(t: ReturnType<typeof accountsOf>) {
    await t.nearEnd(15_000)
    return Array.from({ length: 40 }, () => t.ask(0)).filter(({ hasBegun }) => hasBegun).length
  }

  it('count time as overshoot that is seen only in the window after its request', async () => {
    const t = accountsOf({ isShared: false })
    const { hold } = t.ask(0)
    finish(hold, t.now())
    await t.nearEnd(15_000)
    void charge(hold, 4 * LIMIT_US, t.now())
    assert.equal(await placesAfter(t), 32 / 4)
  })

  it('tell newcomers of a block apart again once those before them are let go of', () => {
    const { accounts, clock, now } = accountsOf({ isShared: false })
    const from = { ip: '203.0.113.7', headers: {} } as Request
    for (let n = 0; n < 50; n++) {
      assert.equal(accounts.payer(`user-${n}`, 5, from, now()).subject, `user-${n}`)
      if (n % 5 === 4) clock.advance(10_000)
    }
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { giveUp, nextCommand, takeReply } from '../../../lib/throttle/sync/sync-protocol'
import type { Applicant, Ticket, WaitRule } from '../../../lib/throttle/window/decision'
import { Engine } from '../../../lib/throttle/window/engine'
import { RoutePrice, learnPrice } from '../../../lib/throttle/window/hold-prices'
import { StoreClock } from '../../../lib/throttle/window/store-clock'
import type { OthersFigures, SubjectWindow } from '../../../lib/throttle/window/subject-window'
import { type HashModel, syncModel } from './simulation/model'

const LIMIT = 1_000_000
const WINDOW = 10_000_000
/** The phase that makes a window begin at 0. */
const PHASE = 0

function alone() {
  /** What each window came to when it was left. */
  const windows = new Map<number, number>()
  const engine = new Engine({
    ...{ windowUs: WINDOW, freshUs: 0, shared: false },
    identify: (id) => ({ id, phase: PHASE }),
    shardOf: () => memory,
    ended: (s, us) => void windows.set(s.own.number, us),
  })
  return { engine, windows }
}

const memory = { clock: new StoreClock(0, 0), isDown: true, downSince: -Infinity, isOnly: true, processes: 1 }

const NO_WAIT: WaitRule = { maxUs: 0, perSubject: 0 }

/** A request of this price. It does not wait for room unless `wait` says so. */
function applicant(priceUs: number, limitUs = LIMIT): Applicant {
  return { price: () => priceUs, limitUs, wait: NO_WAIT, gone: false, waits: () => undefined, decided: () => undefined }
}

/** Steps of one subject: time passes, then a request begins, the oldest or newest ends, or time is charged. */
const steps = fc.array(
  fc.record({
    wait: fc.oneof(fc.integer({ min: 0, max: 200_000 }), fc.integer({ min: 0, max: 25_000_000 })),
    what: fc.constantFrom('admit', 'admit', 'end oldest', 'end newest', 'charge', 'release'),
    estimate: fc.integer({ min: 0, max: 2_000_000 }),
    charge: fc.integer({ min: 0, max: 500_000 }),
  }),
  { maxLength: 60 },
)

const NOTHING = { othersSpent: 0, othersRunning: 0, othersHeld: 0, granted: 0, more: 0, incarnation: 0, ended: 0 }

describe('Engine', () => {
  it('charges each window its own share of each request, loses nothing and doubles nothing', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { engine, windows } = alone()
        const running: Ticket[] = []
        const began = new Map<Ticket, number>()
        const truth = new Map<number, number>()
        let now = 0
        const spend = (from: number, to: number) => {
          for (let at = from; at < to;) {
            const number = Math.floor(at / WINDOW)
            const until = Math.min(to, (number + 1) * WINDOW)
            truth.set(number, (truth.get(number) ?? 0) + until - at)
            at = until
          }
        }
        for (const { wait, what, estimate, charge } of all) {
          now += wait
          if (what === 'admit') {
            const verdict = engine.admit('s', applicant(estimate), now)
            if (!('ticket' in verdict)) continue
            running.push(verdict.ticket)
            began.set(verdict.ticket, now)
          } else if (what === 'charge') {
            engine.charge(engine.subjectWindow('s', LIMIT, now), charge, now)
            const number = Math.floor(now / WINDOW)
            truth.set(number, (truth.get(number) ?? 0) + charge)
          } else {
            const ticket = what === 'end newest' ? running.pop() : running.shift()
            if (ticket === undefined) continue
            if (what === 'release') {
              engine.release(ticket, now)
              // What it had taken before the boundary was charged there; in the open window it leaves nothing.
              spend(began.get(ticket) as number, Math.floor(now / WINDOW) * WINDOW)
            } else {
              engine.settle(ticket, now)
              spend(began.get(ticket) as number, now)
            }
          }
        }
        now += 1
        for (const ticket of running.splice(0)) {
          engine.settle(ticket, now)
          spend(began.get(ticket) as number, now)
        }
        const s = engine.subjectWindow('s', LIMIT, now)
        assert.deepEqual([s.own.running, s.own.accrued(now), s.own.held(now)], [0, 0, 0])
        windows.set(s.own.number, s.own.spent)
        for (const [number, us] of truth) assert.equal(windows.get(number) ?? 0, us, `window ${number}`)
        const sum = (of: Map<number, number>) => [...of.values()].reduce((a, b) => a + b, 0)
        assert.equal(sum(windows), sum(truth))
      }),
      { numRuns: 2_000 },
    )
  })

  it('promises a wait after which nothing of this window refuses', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: WINDOW }), (all, later) => {
        const { engine } = alone()
        let now = 0
        for (const { wait, charge } of all) {
          now += wait % 300_000
          engine.charge(engine.subjectWindow('s', LIMIT, now), charge * 4, now)
        }
        const verdict = engine.admit('s', applicant(1), now)
        if (!('refusal' in verdict)) return
        const { retryAfterUs } = verdict.refusal
        assert.ok(retryAfterUs > 0 && retryAfterUs <= WINDOW)
        assert.ok('ticket' in engine.admit('s', applicant(1), now + retryAfterUs + later))
      }),
    )
  })

  it('admits at once no more than the limit, by their estimates, and always one where nothing runs', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 1, maxLength: 100 }), (estimates) => {
        const { engine } = alone()
        const admitted = estimates.filter((estimate) => 'ticket' in engine.admit('s', applicant(estimate), 0))
        const { own } = engine.subjectWindow('s', LIMIT, 0)
        assert.equal(admitted[0], estimates[0])
        assert.ok(own.held(0) <= LIMIT || admitted.length === 1, `${own.held(0)} held`)
      }),
    )
  })

  it('does not refuse a user under the limit who asks one request at a time', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 50 }), (took) => {
        const { engine } = alone()
        let now = 0
        for (const us of took) {
          const verdict = engine.admit('s', applicant(LIMIT), now)
          // All in the first window, and one after another: the time spent is the time that has passed.
          assert.equal('ticket' in verdict, now <= LIMIT)
          if (!('ticket' in verdict)) return
          engine.settle(verdict.ticket, (now += us))
        }
      }),
    )
  })

  it('release() leaves everything as if the request had not been admitted', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9_000_000 }), fc.integer({ min: 0, max: 900_000 }), (at, after) => {
        const { engine } = alone()
        const s = engine.subjectWindow('s', LIMIT, at)
        engine.charge(s, 1_234, at)
        const verdict = engine.admit('s', applicant(5_000), at)
        assert.ok('ticket' in verdict)
        engine.release(verdict.ticket, at + after)
        if (s.own.number === 0) assert.equal(s.own.spent, 1_234)
        assert.deepEqual([s.own.running, s.own.accrued(at + after), s.own.held(at + after)], [0, 0, 0])
      }),
    )
  })

  it('excuse() leaves the wait for the store out', () => {
    const { engine } = alone()
    const verdict = engine.admit('s', applicant(5_000), 0)
    assert.ok('ticket' in verdict)
    engine.excuse(verdict.ticket, 40_000, 50_000)
    engine.settle(verdict.ticket, 100_000)
    assert.equal(engine.subjectWindow('s', LIMIT, 100_000).own.spent, 60_000)
  })

  it('excuse() moves the start of that request alone, also while others are in flight', () => {
    const { engine } = alone()
    const tickets = [0, 10_000].map((now) => {
      const verdict = engine.admit('s', applicant(5_000), now)
      assert.ok('ticket' in verdict)
      return verdict.ticket
    })
    const [first, second] = tickets as [Ticket, Ticket]
    engine.excuse(second, 30_000, 45_000)
    const s = engine.subjectWindow('s', LIMIT, 50_000)
    assert.equal(s.own.accrued(50_000), 50_000 + 10_000)
    engine.settle(first, 50_000)
    assert.equal(s.own.accrued(50_000), 10_000)
    engine.settle(second, 50_000)
    assert.deepEqual([s.own.spent, s.own.accrued(50_000)], [60_000, 0])
  })

  it('excuse() of one who waited across a boundary leaves the wait out of the new window', () => {
    const { engine } = alone()
    const verdict = engine.admit('s', applicant(5_000), WINDOW - 1_000)
    assert.ok('ticket' in verdict)
    engine.excuse(verdict.ticket, 40_000, WINDOW + 39_000)
    engine.settle(verdict.ticket, WINDOW + 50_000)
    const s = engine.subjectWindow('s', LIMIT, WINDOW + 50_000)
    assert.deepEqual([s.own.spent, s.own.accrued(WINDOW + 50_000)], [11_000, 0])
  })

  it('settle() says whether the limit is exceeded, not where it is reached exactly', () => {
    const { engine } = alone()
    const took = (us: number, at: number) => {
      const verdict = engine.admit('s', applicant(1), at)
      assert.ok('ticket' in verdict)
      return engine.settle(verdict.ticket, at + us)
    }
    assert.equal(took(LIMIT - 1, 0), false)
    assert.equal(took(1, 2_000_000), false)
    assert.equal(took(1, 3_000_000), true)
  })

  it('takes what is left of each hold into the next window', () => {
    const { engine } = alone()
    const [first, second] = [100_000, 300_000].map((estimate) => {
      const verdict = engine.admit('s', applicant(estimate), WINDOW - 50_000)
      assert.ok('ticket' in verdict)
      return verdict.ticket
    }) as [Ticket, Ticket]
    const s = engine.subjectWindow('s', LIMIT, WINDOW + 1)
    assert.equal(s.own.held(WINDOW), 50_000 + 250_000)
    engine.settle(first, WINDOW + 10_000)
    assert.deepEqual([s.own.held(WINDOW + 10_000), s.own.spent], [240_000, 10_000])
    engine.settle(second, WINDOW + 20_000)
    assert.deepEqual([s.own.held(WINDOW + 20_000), s.own.spent], [0, 30_000])
  })

  it('rest() keeps little of subjects at rest, forgets none in its window, and all a window later', () => {
    const { engine } = alone()
    for (let i = 0; i < 100; i++) engine.charge(engine.subjectWindow(`s${i}`, LIMIT, 0), LIMIT + 1 + i, 0)
    engine.admit('runs', applicant(1), 2)
    for (let now = 0; now < WINDOW; now += 100_000) engine.rest(now, 30)
    assert.deepEqual([...engine.subjects.active.keys()], ['runs'])
    assert.equal(engine.subjects.size, 101)
    for (let i = 0; i < 100; i++) {
      const at = 5_000_000 + i * 10_000
      assert.ok('refusal' in engine.admit(`s${i}`, applicant(1), at), 'a throttled subject stays throttled')
      assert.equal(engine.subjectWindow(`s${i}`, LIMIT, at).own.spent, LIMIT + 1 + i)
    }
    for (let now = 5_000_000; now < 3 * WINDOW; now += 100_000) engine.rest(now, 30)
    assert.deepEqual([...engine.subjects.active.keys()], ['runs'])
    assert.equal(engine.subjects.size, 1)
  })

  it('rest() leaves few subjects active for half a minute or half a window, and many for one second', () => {
    /** When the last of so many subjects that each asked once is put to rest. */
    const restedAt = (subjects: number, windowUs: number) => {
      const identify = (id: string) => ({ id, phase: PHASE })
      const engine = new Engine({ windowUs, freshUs: 0, shared: false, identify, shardOf: () => memory })
      for (let i = 0; i < subjects; i++) engine.charge(engine.subjectWindow(`s${i}`, LIMIT, 0), 1, 0)
      const { active } = engine.subjects
      let now = 0
      for (; active.size === subjects && now < 2 * windowUs; now += 500_000) engine.rest(now + 500_000, 2 * subjects)
      return { us: now, active: active.size }
    }
    assert.deepEqual(restedAt(1, 3_600_000_000), { us: 30_000_000, active: 0 })
    assert.deepEqual(restedAt(1, 60_000_000), { us: 30_000_000, active: 0 })
    assert.deepEqual(restedAt(1, 4_000_000), { us: 2_000_000, active: 0 })
    assert.deepEqual(restedAt(1, 1_000_000), { us: 500_000, active: 0 })
    assert.deepEqual(restedAt(16_384, 60_000_000), { us: 30_000_000, active: 0 })
    assert.deepEqual(restedAt(20_000, 60_000_000), { us: 1_000_000, active: 16_384 })
  })

  it('rest() keeps what the requests of a subject took, a window later, too', () => {
    const { engine } = alone()
    const route = new RoutePrice()
    const [ada] = ['ada', 'grace'].map((subject) => engine.subjectWindow(subject, LIMIT, 0)) as [SubjectWindow]
    ada.histories = learnPrice(route, 'ada', undefined, 40_000)
    for (let now = 0; now < 3 * WINDOW; now += 100_000) engine.rest(now, 30)
    assert.equal(engine.subjects.size, 0)
    assert.equal(engine.subjectWindow('ada', LIMIT, 3 * WINDOW).histories, ada.histories)
    assert.equal(engine.subjectWindow('grace', LIMIT, 3 * WINDOW).histories, undefined)
  })
})

describe('Engine that decides alone by a clock that may be off', () => {
  /** The store was last heard at 0, and its time is known to `errorUs` (which grows from there). */
  function alone(windowUs: number, errorUs: number) {
    const shard = { clock: new StoreClock(0, errorUs), isDown: true, downSince: -Infinity, isOnly: true, processes: 1 }
    const identify = (id: string) => ({ id, phase: PHASE })
    const engine = new Engine({ windowUs, freshUs: 250_000, shared: true, identify, shardOf: () => shard })
    const subjectWindow = (now: number) => engine.subjectWindow('s', LIMIT, now)
    return {
      admits: (now: number) => 'ticket' in engine.admit('s', applicant(0), now),
      spendAll: (now: number) => engine.charge(subjectWindow(now), LIMIT + 1, now),
      subjectWindow,
    }
  }

  it('enters the next window where this one may be over, early rather than late, and has one budget there', () => {
    const { admits, spendAll, subjectWindow } = alone(WINDOW, 20_000)
    spendAll(0)
    const surelyOpenUntil = 9_975_000 // the end, less 20 ms, less what the clocks may have drifted apart in 10 s
    assert.equal(admits(surelyOpenUntil - 100), false)
    assert.equal(admits(surelyOpenUntil + 100), true, 'another process may have promised the next window by now')
    assert.equal(subjectWindow(surelyOpenUntil + 100).own.number, 1)
    spendAll(surelyOpenUntil + 100)
    for (const now of [surelyOpenUntil + 200, WINDOW + 1, WINDOW + 5_000_000]) assert.equal(admits(now), false)
  })

  it('keeps windows apart that are shorter than the clock is sure', () => {
    const { admits, spendAll } = alone(1_000_000, 2_000_000)
    let budgets = 0
    for (let now = 0; now < 10_000_000; now += 10_000) {
      if (!admits(now)) continue
      budgets++
      spendAll(now)
    }
    assert.equal(budgets, 11, 'one for each of ten windows, and the next at its early edge')
  })
})

describe('sync protocol', () => {
  /** Two engines over one model of the store. */
  function two() {
    const hashes = new Map<number, HashModel>()
    const shard = { clock: new StoreClock(0, 1_000), isDown: false, downSince: 0, isOnly: true, processes: 1 }
    const make = (id: string) => {
      const engine = new Engine({
        windowUs: WINDOW,
        freshUs: 250_000,
        shared: true,
        identify: (s) => ({ id: s, phase: PHASE }),
        shardOf: () => shard,
      })
      return {
        engine,
        sync(now: number) {
          const s = engine.subjectWindow('s', LIMIT, now)
          const asked = nextCommand(engine, s, id, now)
          const { sent } = s
          assert.ok(sent)
          const { hash, reply } = syncModel(hashes.get(asked.number), now, asked)
          if (hash) hashes.set(asked.number, hash)
          return { asked, sent, reply, s, take: (at = now) => takeReply(engine, s, sent, reply, at) }
        },
      }
    }
    return { a: make('a'), b: make('b'), hashes, shard }
  }

  /** The store answers these figures to a command of `at`. */
  function hear(engine: Engine, s: SubjectWindow, at: number, figures: Partial<OthersFigures>): void {
    s.slack.wish(LIMIT, false)
    const sent = s.send(engine.nextSeq(), (figures.granted ?? 0) > 0, at)
    s.unsend(sent)
    s.hear(sent, { ...NOTHING, ...figures }, true, at)
  }

  it("brings the others' figures, and charges nothing twice however often a command arrives", () => {
    const { a, b, hashes } = two()
    a.engine.charge(a.engine.subjectWindow('s', LIMIT, 0), 300_000, 0)
    const { asked, take: taken } = a.sync(1)
    taken()
    for (let i = 0; i < 3; i++) assert.equal(syncModel(hashes.get(0), 5, asked).reply.written, undefined)
    const sync = b.sync(10)
    sync.take()
    assert.equal(sync.s.used(10), 300_000)
  })

  it('leaves to a request that missed an answer no more than its share, however long ago the last outage began', () => {
    const shard = { clock: new StoreClock(0, 1_000), isDown: false, downSince: 0, isOnly: true, processes: 8 }
    const engine = new Engine({
      ...{ windowUs: WINDOW, freshUs: 250_000, shared: true, shardOf: () => shard },
      identify: (id) => ({ id, phase: PHASE }),
    })
    const now = 5_000_000
    const waits = { ...applicant(LIMIT / 2), wait: { maxUs: 5_000_000, perSubject: 64 } }
    const verdict = engine.admit('s', waits, now)
    assert.ok('waiter' in verdict)
    const { subjectWindow: s } = verdict.waiter
    s.send(engine.nextSeq(), false, now)
    assert.deepEqual(giveUp(engine, s, now + 70_000), [])
    assert.equal(s.waiting.length, 1)

    shard.isDown = true // for five seconds now
    const [answer] = engine.decideWaiting(s, 'alone', now + 70_000)
    assert.ok(answer && 'ticket' in answer[1])
  })

  it('takes half for used up of what it never heard of, where the store has only just stopped answering', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    const shard = { clock: new StoreClock(0, 0), isDown: true, downSince: 0, isOnly: true, processes: 8 }
    s.moveTo(shard)
    assert.equal(s.shareLeft(LIMIT, 1_000_000), LIMIT / 16)
    assert.equal(s.shareLeft(LIMIT, 1_000_001), LIMIT / 8)
    s.moveTo({ ...shard, isDown: false })
    assert.equal(s.shareLeft(LIMIT, 5_000_000), LIMIT / 16, 'one answer is late')
    s.moveTo({ ...shard, processes: 1 })
    assert.equal(s.shareLeft(LIMIT, 1), LIMIT)
  })

  it('tells of what was used a figure that does not fall within a window, but by a reset', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    const shown: number[] = []
    for (const othersSpent of [300_000, 500_000, 420_000, 450_000, 510_000, 10_000]) {
      hear(a.engine, s, shown.length, { othersSpent })
      shown.push(s.shown(shown.length))
    }
    assert.deepEqual(shown, [300_000, 500_000, 500_000, 500_000, 510_000, 10_000])
    a.engine.charge(s, 20_000, 10)
    assert.equal(s.shown(10), 30_000)
    a.engine.charge(s, -5_000, 10)
    assert.equal(s.shown(10), 25_000, 'a credit of this process')
    hear(a.engine, s, 11, { othersSpent: 0 })
    assert.equal(s.shown(11), 25_000)
    const ticket = a.engine.begin(s, 50, 12)
    assert.equal(s.shown(50_012), 65_000)
    a.engine.release(ticket, 50_013)
    assert.equal(s.shown(50_014), 65_000)
    assert.equal(a.engine.subjectWindow('s', LIMIT, 2 * WINDOW).shown(2 * WINDOW), 0, 'the next window')
  })

  it('leaves to the other processes what they held when last heard, for as long as they may run', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    hear(a.engine, s, 0, { othersHeld: 900_000 })
    assert.equal(s.shareLeft(LIMIT, 1_000), 100_000)
    assert.equal(s.shareLeft(LIMIT, 5_000_000), LIMIT)
  })

  it('admits from memory what fits into its slack, and asks for what does not, or where it knows too little', () => {
    const { a } = two()
    const admit = (estimate: number, now: number) => {
      const verdict = a.engine.admit('s', applicant(estimate), now)
      return 'ticket' in verdict ? 'admitted' : 'refusal' in verdict ? 'refused' : 'asks'
    }
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    hear(a.engine, s, 0, { granted: 100_000, more: 50_000 })
    assert.equal(admit(60_000, 10), 'admitted')
    assert.equal(s.slack.left, 40_000)
    assert.equal(admit(40_000, 20), 'admitted', 'to the last')
    hear(a.engine, s, 0, { granted: 100_000, more: 50_000 })
    assert.equal(admit(10, 250_000), 'admitted')
    assert.equal(admit(10, 250_001), 'asks', 'its figures are too old')
    s.keepWaiting([])

    hear(a.engine, s, 250_001, { granted: 90_000, othersRunning: 20 })
    assert.equal(admit(10, 270_000), 'admitted')
    // 580,000 of ours by then, 330,000 of others, and 20 of them that have run for 5 ms since
    hear(a.engine, s, 270_000, { granted: 90_000, othersRunning: 20, othersSpent: 330_000 })
    assert.equal(admit(10, 275_000), 'asks', 'by now the others may have used what was left')
    s.keepWaiting([])
    assert.equal(s.own.running, 4)
    assert.equal(admit(LIMIT, 275_001), 'refused', 'more than there is, while others are in flight')
  })

  it('a request that exceeds slack and all that was left is asked for where nobody else is in flight', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    hear(a.engine, s, 0, {})
    const verdict = a.engine.admit('s', applicant(500_000), 1)
    assert.ok('waiter' in verdict)
    s.keepWaiting([])
    hear(a.engine, s, 1, { othersRunning: 1 })
    assert.ok('refusal' in a.engine.admit('s', applicant(500_000), 2))
  })

  it('a request with a smaller limit does not use what was granted under a larger one, one with a larger limit does', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    hear(a.engine, s, 5, { granted: 100_000 })
    assert.ok('waiter' in a.engine.admit('s', applicant(10, LIMIT / 2), 6), 'it is asked about')
    s.keepWaiting([])
    assert.ok('ticket' in a.engine.admit('s', applicant(10, 2 * LIMIT), 7))
    assert.equal(s.slack.left, 99_990)
  })

  it('keeps nothing of what was granted under a larger limit when it asks under a smaller one', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    for (let i = 0; i < 3; i++) a.engine.admit('s', applicant(20_000), 0)
    s.keepWaiting([])
    hear(a.engine, s, 1, { granted: 50_000 })
    assert.equal(a.sync(2).asked.keep, 50_000)
    a.engine.admit('s', applicant(20_000, LIMIT / 2), 3)
    assert.equal(a.sync(3).asked.keep, 0)
  })

  it('judges each of those who wait by its own limit, in the order in which they came', () => {
    const { a, b } = two()
    b.engine.charge(b.engine.subjectWindow('s', LIMIT, 0), 500_000, 0)
    b.engine.begin(b.engine.subjectWindow('s', LIMIT, 0), 100_000, 0)
    b.sync(1).take()
    const limits = [400_000, 2_000_000, 650_000, 400_000, 2_000_000]
    for (const limit of limits) assert.ok('waiter' in a.engine.admit('s', applicant(50_000, limit), 2))
    const { asked, take } = a.sync(3)
    assert.equal(asked.limit, 2_000_000)
    // 600,000 are committed elsewhere, so the third does not fit beside the second one's 50,000.
    assert.deepEqual(
      take(4).answers.map(([, decision]) => 'ticket' in decision),
      [false, true, false, false, true],
    )
  })

  it('gives back at once what was granted to a request by itself that has gone meanwhile', () => {
    const { a, b } = two()
    a.engine.charge(a.engine.subjectWindow('s', LIMIT, 0), 900_000, 0)
    let gone = false
    const patient = { ...applicant(500_000), wait: { maxUs: 5_000_000, perSubject: 1 } }
    assert.ok('waiter' in a.engine.admit('s', Object.defineProperty(patient, 'gone', { get: () => gone }), 1))
    const { reply, take } = a.sync(2)
    assert.equal(reply.written?.lone, true)
    gone = true
    assert.deepEqual(take(3).answers, [])
    assert.equal(b.sync(4).reply.written?.othersHeld, 500_000)
    a.engine.tick(5) // what was asked for keeps it due until here
    assert.equal(a.engine.tick(6).length, 1)
    a.sync(6).take()
    assert.equal(b.sync(7).reply.written?.othersHeld, 0)
  })

  it('hands its charges over at the end, and heals a store that loses what closed processes had charged', () => {
    const { a, b, hashes } = two()
    for (const [who, us] of [[a, 300_000] as const, [b, 20_000] as const]) {
      who.engine.charge(who.engine.subjectWindow('s', LIMIT, 0), us, 0)
      who.sync(1).take()
    }
    const s = a.engine.subjectWindow('s', LIMIT, 2)
    const last = nextCommand(a.engine, s, 'a', 2, true)
    hashes.set(0, syncModel(hashes.get(0), 2, last).hash as HashModel)
    assert.deepEqual([...(hashes.get(0)?.fields.keys() ?? [])], ['b'])
    assert.equal(syncModel(hashes.get(0), 3, { ...last, seq: 99, closing: false }).reply.written, undefined, 'late')
    const heard = b.sync(4)
    heard.take()
    assert.equal(heard.s.used(4), 320_000)
    hashes.clear()
    b.sync(5_000).take(5_001)
    assert.equal(hashes.get(0)?.inherited, 300_000)
    assert.equal(b.sync(6_000).reply.written?.othersSpent, 300_000, 'once')
  })

  /** The commands of a subject that asks at these ticks: each tick's, and those that requests wait for. */
  function commands(askedAt: readonly number[], ticks: number, priceUs: number, tookUs = priceUs / 2) {
    const { a } = two()
    const asks: number[] = []
    const published: { tick: number; slice: number }[] = []
    for (let tick = 0; tick < ticks; tick++) {
      let now = tick * 125_000
      for (const s of a.engine.tick(now)) {
        const { asked, take } = a.sync(now)
        take()
        assert.equal(s.subject, 's')
        published.push({ tick, slice: asked.slice })
      }
      if (!askedAt.includes(tick)) continue
      now += 60_000
      const verdict = a.engine.admit('s', applicant(priceUs), now)
      if ('waiter' in verdict) asks.push(tick)
      const answers = 'waiter' in verdict ? a.sync(now).take().answers : []
      const decision = 'waiter' in verdict ? answers[0]?.[1] : verdict
      assert.ok(decision && 'ticket' in decision)
      a.engine.settle(decision.ticket, now + tookUs)
    }
    return { asks, published }
  }

  it('takes two commands for a subject that asks once: one asks, one tells, and nothing is to be given back', () => {
    assert.deepEqual(commands([1, 9], 14, 2_000), {
      asks: [1, 9],
      published: [
        { tick: 2, slice: 0 },
        { tick: 10, slice: 0 },
      ],
    })
  })

  it('takes one for a trifle, and another where it was none', () => {
    assert.deepEqual(commands([1, 9], 14, 1_000), { asks: [1, 9], published: [] })
    const [tick, slice] = [2, 0]
    assert.deepEqual(commands([1], 14, 1_000, 1_001), { asks: [1], published: [{ tick, slice }] })
    assert.deepEqual(commands([1], 14, 1_001, 1_000), { asks: [1], published: [{ tick, slice }] }, 'it holds something')
  })

  it('grants time ahead to a subject that asks in two ticks together, and takes it back where no more follows', () => {
    assert.deepEqual(commands([1, 2, 3, 4], 9, 2_000), {
      asks: [1, 2],
      published: [
        { tick: 2, slice: 0 },
        { tick: 3, slice: 2_500 },
        { tick: 4, slice: 2_500 },
        { tick: 5, slice: 2_500 },
        { tick: 6, slice: 0 },
      ],
    })
  })

  it('and so with trifles, but that the second need not ask', () => {
    assert.deepEqual(commands([1, 2, 3, 4], 9, 200), {
      asks: [1],
      published: [
        { tick: 3, slice: 250 },
        { tick: 4, slice: 250 },
        { tick: 5, slice: 250 },
        { tick: 6, slice: 0 },
      ],
    })
  })

  it('lets nobody in who waits by what it heard too long ago', () => {
    const { a, b } = two()
    b.engine.begin(b.engine.subjectWindow('s', LIMIT, 0), 990_000, 0)
    b.sync(1).take(1)
    a.engine.admit('s', { ...applicant(100_000), wait: { maxUs: 5_000_000, perSubject: 1 } }, 2)
    const { s, take } = a.sync(2)
    assert.deepEqual(take(3).answers, [])
    s.slack.give(100_000)
    assert.deepEqual(a.engine.decideWaiting(s, 'memory', 250_003), [])
    assert.equal(a.engine.decideWaiting(s, 'memory', 250_002).length, 1)
  })

  it('hears at the next tick of whom it refused for want of room', () => {
    const { a, b } = two()
    b.engine.begin(b.engine.subjectWindow('s', LIMIT, 0), 990_000, 0)
    b.sync(1).take(1)
    assert.ok('waiter' in a.engine.admit('s', applicant(100_000), 2))
    const { s, take } = a.sync(2)
    const [[, decision] = []] = take(3).answers
    assert.ok(decision && 'refusal' in decision)
    assert.deepEqual(a.engine.tick(125_000), [s])
  })

  it('hears every two seconds of whom it refuses from memory, however rarely that asks', () => {
    const { a, b } = two()
    a.engine.charge(a.engine.subjectWindow('s', LIMIT, 0), 1_100_000, 0)
    a.sync(1).take(1)
    const published: number[] = []
    for (let now = 500_000; now <= 3_000_000; now += 500_000) {
      assert.ok('refusal' in a.engine.admit('s', applicant(100), now))
      if (a.engine.tick(now + 125_000).length > 0) published.push(now)
      a.engine.tick(now + 250_000)
    }
    assert.deepEqual(published, [2_000_000, 2_500_000, 3_000_000])
    b.engine.charge(b.engine.subjectWindow('s', LIMIT, 3_200_000), -1_100_000, 3_200_000)
    b.sync(3_200_000).take(3_200_000)
    a.sync(3_300_000).take(3_300_000)
    assert.ok('ticket' in a.engine.admit('s', applicant(100), 3_300_001), 'it was reset elsewhere')
  })

  describe('a trifle', () => {
    /** Others have charged this and hold that much; of this process a request asks. */
    function afterOthers(spent: number, held: number, priceUs = 900) {
      const { a, b, hashes } = two()
      b.engine.charge(b.engine.subjectWindow('s', LIMIT, 0), spent, 0)
      if (held > 0) b.engine.begin(b.engine.subjectWindow('s', LIMIT, 0), held, 0)
      b.sync(1).take(1)
      const verdict = a.engine.admit('s', applicant(priceUs), 1)
      assert.ok('waiter' in verdict)
      return { a, hashes, ask: a.sync(1) }
    }

    /** Two processes, of which one has told the store of this charge. */
    function afterTold(us: number) {
      const both = two()
      both.a.engine.charge(both.a.engine.subjectWindow('s', LIMIT, 0), us, 0)
      both.a.sync(1).take(1)
      return both
    }

    /** The one request that waits is decided so by this answer, and nothing is left to ask. */
    function isDecided({ take }: ReturnType<ReturnType<typeof two>['a']['sync']>, how: 'ticket' | 'refusal'): void {
      const { answers, againInUs } = take(4)
      assert.deepEqual(
        answers.map(([, decision]) => how in decision),
        [true],
      )
      assert.equal(againInUs, undefined)
    }

    it('is let in once the others are heard, is granted nothing, and leaves nothing in the store', () => {
      const { ask, hashes } = afterOthers(300_000, 100_000)
      assert.deepEqual([ask.asked.want, ask.asked.isAwaited], [0, true])
      isDecided(ask, 'ticket')
      const { spent, hold, running, slack } = hashes.get(0)?.fields.get('a') ?? {}
      assert.deepEqual([spent, hold, running, slack], [0, 0, 0, 0])
    })

    it('is asked about as any other where more than half of the limit is used or held', () => {
      const { a, ask } = afterOthers(300_000, 200_000)
      assert.deepEqual(ask.take(2), { answers: [], againInUs: 0 })
      const again = a.sync(3)
      assert.equal(again.asked.want, 900)
      isDecided(again, 'ticket')
    })

    it('is refused by the same answer where the limit is used up', () => {
      isDecided(afterOthers(1_000_001, 0).ask, 'refusal')
    })

    it('where nothing is held for it, is let in by the same answer however much is used', () => {
      isDecided(afterOthers(900_000, 0, 0).ask, 'ticket')
    })

    it('is none after a credit that the store was not told', () => {
      const { a } = afterTold(400_000)
      a.engine.charge(a.engine.subjectWindow('s', LIMIT, 2), -400_000, 2)
      assert.equal(a.engine.subjectWindow('s', LIMIT, 2).isTrifle(100, LIMIT, 2), false)
    })

    it('is let in from memory until what was not told comes to a trifle', () => {
      const { a } = afterTold(5)
      const first = a.engine.admit('s', applicant(400), 2)
      assert.ok('ticket' in first)
      const second = a.engine.admit('s', applicant(400), 2)
      assert.ok('ticket' in second)
      assert.ok('waiter' in a.engine.admit('s', applicant(400), 2), 'two are held')
      for (const { ticket } of [first, second]) a.engine.settle(ticket, 302)
      assert.equal(first.ticket.subjectWindow.dirty, false)
      first.ticket.subjectWindow.keepWaiting([])
      assert.ok('ticket' in a.engine.admit('s', applicant(400), 303), 'these took 600 together')
      assert.ok('waiter' in a.engine.admit('s', applicant(1), 303))
    })

    it('is none once the others were heard too long ago, or may have used up much since', () => {
      const { a, b } = afterTold(5)
      b.engine.begin(b.engine.subjectWindow('s', LIMIT, 2), 0, 2)
      b.sync(2).take(2)
      a.sync(3).take(3)
      assert.equal(a.engine.subjectWindow('s', LIMIT, 4).isTrifle(100, LIMIT, 200_000), true)
      assert.equal(a.engine.subjectWindow('s', LIMIT, 4).isTrifle(100, LIMIT, 500_000), false, 'one runs elsewhere')
      assert.ok('waiter' in a.engine.admit('s', applicant(100), 250_004), 'it is asked about')
    })

    it('where it is told with what runs is no longer one', () => {
      const { a } = afterTold(5)
      const verdict = a.engine.admit('s', applicant(400), 2)
      assert.ok('ticket' in verdict)
      const { subjectWindow } = verdict.ticket
      assert.deepEqual(a.engine.tick(300), [subjectWindow], 'it still runs')
      assert.equal(a.sync(300).take(301).againInUs, undefined)
      a.engine.settle(verdict.ticket, 302)
      assert.equal(subjectWindow.dirty, true, 'the store is to be told that it runs no more')
    })

    it('is a millisecond at most, and a thousandth of the limit', () => {
      const { a } = afterTold(5)
      const s = a.engine.subjectWindow('s', LIMIT, 2)
      const isTrifle = (cost: number, limit: number) => s.isTrifle(cost, limit, 2)
      assert.deepEqual([isTrifle(100, 100_000), isTrifle(101, 100_000)], [true, false])
      assert.deepEqual([isTrifle(1_000, 1e9), isTrifle(1_001, 1e9)], [true, false])
    })

    it('is asked for where another waits, where one runs, and where time is asked for ahead', () => {
      for (const before of ['waits', 'runs', 'came and went'] as const) {
        const { a } = two()
        const s = a.engine.subjectWindow('s', LIMIT, 0)
        if (before === 'waits') a.engine.admit('s', applicant(300), 1)
        if (before === 'runs') a.engine.begin(s, 0, 1)
        if (before === 'came and went') s.slack.ask(300)
        a.engine.admit('s', applicant(300), 2)
        if (before === 'waits') s.slack.stop() // they have waited for so long that nothing is asked for ahead
        assert.equal(a.sync(3).asked.want, before === 'waits' ? 600 : 300, before)
      }
    })

    it('is none by what an earlier window was told', () => {
      const { a } = afterTold(50_000)
      const s = a.engine.subjectWindow('s', LIMIT, WINDOW + 1_000_000)
      a.engine.charge(s, 50_000, WINDOW + 1_000_000)
      assert.equal(s.dirty, true)
    })

    it('is none by the late answer to a command that was given up', () => {
      const { a } = two()
      const early = a.sync(1)
      giveUp(a.engine, early.s, 2)
      a.engine.begin(early.s, 0, 3)
      a.sync(4)
      early.take(5)
      assert.equal(early.s.isTrifle(100, LIMIT, 6), false, 'one runs, as the store was told since')
    })
  })

  it('tick() publishes whom something has moved for, once at a time, and forgets who is idle', () => {
    const { a } = two()
    const { engine } = a
    const s = engine.subjectWindow('s', LIMIT, 0)
    assert.equal(engine.busy, false)
    engine.charge(s, 5, 0)
    assert.equal(engine.busy, true)
    assert.deepEqual(engine.tick(1), [s])
    const sync = a.sync(2)
    engine.charge(s, 5, 3)
    assert.deepEqual(engine.tick(3), [], 'its command is under way')
    assert.equal(engine.busy, true)
    sync.take(4)
    assert.deepEqual(engine.tick(4), [s])
    a.sync(4).take(5)
    hear(engine, s, 5, { granted: 77 })
    assert.deepEqual(engine.tick(5), [s], 'idle: what was granted is given back')
    assert.equal(s.slack.left, 0)
    a.sync(5).take(6) // finds that the store never had the command that `hear()` made up
    assert.equal(engine.busy, true)
    assert.deepEqual(engine.publishAgain(6, 9), [s])
    a.sync(6).take(7)
    assert.deepEqual(engine.tick(7), [])
    assert.equal(engine.busy, false)

    const ticket = engine.begin(s, 10, 6)
    a.sync(7).take(8)
    assert.deepEqual(engine.tick(9), [s], 'in flight')
    engine.settle(ticket, 10)
    a.sync(11).take(12)
    for (let i = 0; i < 2; i++) engine.admit('s', applicant(2_000), 13)
    s.keepWaiting([])
    assert.deepEqual(engine.tick(14), [s], 'wanted')
    assert.deepEqual(engine.tick(15), [], 'no longer')
  })

  it('tick() may leave out those that became due a moment ago', () => {
    const { a } = two()
    const { engine } = a
    const charged = ['first', 'second', 'third'].map((subject, i) => {
      const s = engine.subjectWindow(subject, LIMIT, i)
      engine.charge(s, 5, 10 * i)
      return s
    })
    assert.deepEqual(engine.tick(30, -1), [])
    assert.deepEqual(engine.tick(30, 10), charged.slice(0, 2))
    assert.deepEqual(engine.tick(31, 29), charged.slice(2))
    assert.deepEqual(engine.tick(40, 30), charged.slice(0, 2), 'they were not sent, so they are due again')
  })

  it('republish() begins with those over their limit, and comes to those at rest last', () => {
    const { a, shard } = two()
    const { engine } = a
    const names = (all: readonly SubjectWindow[]) => all.map(({ subject }) => subject)
    for (const subject of ['rests', 'busy', 'over'])
      engine.charge(engine.subjectWindow(subject, LIMIT, 0), subject === 'over' ? LIMIT + 1 : 10, 0)
    for (const s of engine.tick(1)) hear(engine, s, 1, {})
    for (const now of [5_100_000, 5_200_000]) {
      engine.tick(now)
      for (const subject of ['busy', 'over']) engine.charge(engine.subjectWindow(subject, LIMIT, now), 1, now)
      for (const s of engine.tick(now)) hear(engine, s, now, {})
      engine.tick(now)
      engine.rest(now, 10)
    }
    assert.deepEqual([...engine.subjects.active.keys()], ['busy', 'over'])
    engine.republish(shard, 5_300_000)
    assert.deepEqual(names(engine.publishAgain(5_300_000, 2)), ['over', 'busy'])
    const woken = engine.publishAgain(5_300_000, 2)
    assert.deepEqual(names(woken), ['rests'])
    assert.equal(engine.publishAgain(5_300_000, 2).length, 0)

    for (const s of [...engine.tick(5_300_000), ...woken]) hear(engine, s, 5_300_000, {})
    engine.tick(5_400_000)
    engine.rest(6_400_000, 10)
    assert.deepEqual([...engine.subjects.active.keys()], ['busy', 'over'], 'who did not ask rests a second later')
  })

  it('says again to the server that is up now what an idle subject owed to one that was down', () => {
    const [down, up] = [
      { ...memory, clock: new StoreClock(0, 0), isOnly: false },
      { ...memory, clock: new StoreClock(0, 0), isDown: false, isOnly: false },
    ]
    let keeper = down
    const identify = (id: string) => ({ id, phase: PHASE })
    const engine = new Engine({ windowUs: WINDOW, freshUs: 0, shared: true, identify, shardOf: () => keeper })
    const s = engine.subjectWindow('s', LIMIT, 0)
    engine.charge(s, 10, 0)
    engine.rest(1, 10) // while nobody could be told, it is not due
    assert.deepEqual(engine.tick(1), [])
    assert.equal(engine.busy, false)
    keeper = up
    engine.republish(up, 2)
    assert.deepEqual(engine.publishAgain(2, 9), [s])
    assert.deepEqual([s.shard === up, s.dirty], [true, true], 'so that it can be told at once')
    engine.rest(3, 10)
    assert.equal(engine.busy, true)
  })

  it('a request in flight at the boundary is published in its new window', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, WINDOW - 10)
    a.engine.begin(s, 10, WINDOW - 9)
    a.sync(WINDOW - 8).take(WINDOW - 7)
    assert.deepEqual([s.own.number, s.dirty], [0, false])
    a.engine.enter(s, WINDOW + 5)
    assert.deepEqual([s.own.number, s.dirty], [1, true])
    const idle = a.engine.subjectWindow('idle', LIMIT, WINDOW - 10)
    a.engine.enter(idle, 3 * WINDOW + 5)
    assert.deepEqual([idle.own.number, idle.dirty], [3, false])
  })

  it('rest() leaves alone who waits or has a command under way', () => {
    const { a } = two()
    const { engine } = a
    const waits = engine.admit('waits', applicant(10), 0)
    assert.ok('waiter' in waits)
    const asks = engine.subjectWindow('asks', LIMIT, 0)
    nextCommand(engine, asks, 'a', 0)
    engine.tick(1) // neither has anything to publish from here on
    for (let now = 0; now < 3 * WINDOW; now += 100_000) engine.rest(now, 10)
    assert.deepEqual([...engine.subjects.active.keys()].sort(), ['asks', 'waits'])
  })

  it('heals a store that lost what it was told', () => {
    const { a, hashes } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    a.engine.charge(s, 300_000, 0)
    a.sync(1).take()
    assert.equal(s.dirty, false)
    hashes.clear()
    a.sync(2).take()
    assert.equal(hashes.get(0)?.fields.get('a')?.spent, 300_000)
    assert.deepEqual(a.engine.publishAgain(3, 9), [s], 'it found its own field gone, and says everything again')
    assert.equal(s.dirty, true)
    a.sync(4).take()
    hashes.clear()
    a.sync(5).take()
    assert.deepEqual(a.engine.publishAgain(6, 9), [s], 'lost again')
    hashes.clear()
    a.sync(7).take()
    assert.deepEqual(a.engine.publishAgain(8, 9), [], 'the loss that is known')
  })

  it('finds out what the store lost of a subject that was at rest meanwhile', () => {
    const { a, hashes } = two()
    for (const subject of ['s', 'other']) a.engine.charge(a.engine.subjectWindow(subject, LIMIT, 0), 300_000, 0)
    a.sync(1).take()
    for (let now = 2; now < 8_000_000; now += 500_000) {
      a.engine.tick(now)
      a.engine.rest(now, 10)
    }
    assert.equal(a.engine.subjects.active.has('s'), false)
    hashes.clear()
    a.sync(8_000_000).take(8_000_001)
    const again = a.engine.publishAgain(8_000_002, 9).map(({ subject }) => subject)
    assert.deepEqual(again.sort(), ['other', 's'])
  })

  it('admits nobody past those who wait: a later request would use what is granted to them', () => {
    const { a } = two()
    const s = a.engine.subjectWindow('s', LIMIT, 0)
    for (const now of [0, 2]) {
      assert.ok('waiter' in a.engine.admit('s', applicant(16_500), now))
      a.sync(now).take()
      a.engine.tick(now + 1)
    }
    hear(a.engine, s, 3, { granted: 20_600, more: 100_000 })
    assert.ok('waiter' in a.engine.admit('s', applicant(20_800), 4), 'more than the slack')
    const sync = a.sync(5)
    assert.ok(sync.asked.keep > 20_500)
    assert.ok('waiter' in a.engine.admit('s', applicant(20_500), 6), 'though the slack would do')
    const { answers } = sync.take(7)
    assert.equal(answers.length, 1)
    assert.ok('ticket' in (answers[0] as (typeof answers)[0])[1])
    assert.equal(s.waiting.length, 1)
    const again = a.sync(6).take(7)
    assert.ok('ticket' in (again.answers[0] as (typeof answers)[0])[1])
  })

  it('admits by what was asked for and granted, though prices have risen meanwhile', () => {
    const { a } = two()
    let price = 16_000
    const asks = { ...applicant(0), price: () => price, wait: { maxUs: 5_000_000, perSubject: 9 } }
    assert.ok('waiter' in a.engine.admit('s', asks, 0))
    const { take, s } = a.sync(1)
    price = 25_000
    assert.ok('waiter' in a.engine.admit('s', asks, 2), 'it came too late to be in the command')
    const { answers } = take(3)
    assert.deepEqual([answers.length, s.own.running, s.own.held(3)], [1, 1, 16_000])
    assert.equal(a.sync(4).asked.want, 25_000)
  })

  it("decides alone about those who wait when no answer comes, by the others' last known figures", () => {
    const { a, b } = two()
    b.engine.charge(b.engine.subjectWindow('s', LIMIT, 0), 900_000, 0)
    b.sync(1).take()
    a.sync(2).take()
    const late = 500_000 // the figures are stale: requests wait for the store
    const verdicts = [60_000, 60_000].map((estimate) => a.engine.admit('s', applicant(estimate), late))
    assert.ok(verdicts.every((verdict) => 'waiter' in verdict))
    const answers = giveUp(a.engine, a.engine.subjectWindow('s', LIMIT, late), late)
    assert.deepEqual(
      answers.map(([, decision]) => 'ticket' in decision),
      [true, false],
    )
  })

  it('grants nothing to those whose clients have gone while the store was asked', () => {
    const { a } = two()
    const decided: number[] = []
    for (let i = 0; i < 4; i++) {
      const asks = { ...applicant(300_000), gone: i < 2, decided: () => void decided.push(i) }
      assert.ok('waiter' in a.engine.admit('s', asks, 0))
    }
    const { asked, take: taken, s } = a.sync(1)
    assert.equal(asked.want, 600_000)
    const { answers } = taken(2)
    for (const [waiter, decision] of answers) waiter.applicant?.decided(decision)
    assert.deepEqual(decided, [2, 3])
    assert.deepEqual([s.own.running, s.own.held(2), s.waiting.length], [2, 600_000, 0])
  })

  it('takes a reply that comes after its window for what it is: nothing', () => {
    const { a } = two()
    a.engine.charge(a.engine.subjectWindow('s', LIMIT, 0), 300_000, 0)
    const { take: taken, s } = a.sync(WINDOW - 2_000)
    taken(WINDOW + 5_000)
    assert.equal(s.own.number, 1)
    assert.equal(s.used(WINDOW + 5_000), 0)
    assert.equal(s.asOf, -Infinity)
  })
})

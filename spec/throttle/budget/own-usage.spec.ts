import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Hold } from '../../../lib/throttle/budget/hold'
import { OwnUsage } from '../../../lib/throttle/budget/hold'
import { SpecPrice, SpecTime } from '../spec-request'
import { assertIs, atLeast } from '../../support/until'

const WINDOW_US = 1_000_000

/** What a request does, after so many µs. */
type Step =
  | { readonly kind: 'begin'; readonly priceUs: number }
  | { readonly kind: 'start' | 'park' | 'wait' | 'end'; readonly which: number }
  | { readonly kind: 'excuse'; readonly which: number; readonly us: number }
  | { readonly kind: 'charge'; readonly us: number }

const us = fc.integer({ min: 0, max: 50_000 })
const which = fc.nat({ max: 5 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('begin' as const), priceUs: us }),
  fc.record({ kind: fc.constantFrom('start', 'start', 'park', 'wait', 'end' as const), which }),
  fc.record({ kind: fc.constant('excuse' as const), which, us }),
  fc.record({ kind: fc.constant('charge' as const), us }),
)

/** One request as a naive recount has it: all its time, state by state. */
class Recounted {
  state: 'parked' | 'awaitingClient' | 'running' | 'ended' = 'parked'
  #since = 0
  #took = 0
  /** Of what it took, since it was last turned to run. */
  #running = 0
  usedUs = 0
  excusedUs = 0

  constructor(readonly priceUs: number) {}

  turn(state: Recounted['state'], now: number): void {
    if (this.state === 'ended') return
    this.pass(now)
    this.#running = 0
    this.state = state
  }

  /** Time passes in the present state. */
  pass(now: number): void {
    const us = now - this.#since
    this.#since = now
    if (this.state === 'awaitingClient') this.excusedUs += us
    if (this.state !== 'running') return
    this.usedUs += us
    this.#took += us
    this.#running += us
  }

  excuse(us: number): number {
    const most = this.state === 'running' ? Math.min(us, this.#running) : 0
    this.usedUs -= most
    this.#took -= most
    this.#running -= most
    return most
  }

  /** What is left of its price. */
  get pricedUs(): number {
    return this.state === 'ended' ? 0 : Math.max(0, this.priceUs - this.#took)
  }
}

/** A request of this price, whose time is a stopwatch. */
function requestOf(priceUs: number, now: number): { time: SpecTime; hold: Hold } {
  const time = new SpecTime(now)
  const rules = { wait: { maxUs: 0, perSubject: 0 } }
  const hold = new Hold(undefined, rules, time, new SpecPrice(() => priceUs), 'ada', WINDOW_US, Infinity, 32)
  hold.priceUs = priceUs
  return { time, hold }
}

describe('OwnUsage', () => {
  it('law: sums are those of a naive recount of all requests, whatever they do', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(us, step), { maxLength: 60 }), (steps) => {
        const own = new OwnUsage()
        const all: { hold: Hold; time: SpecTime; naive: Recounted }[] = []
        let [now, charged] = [0, 0]
        for (const [after, did] of steps) {
          now += after
          for (const { naive } of all) naive.pass(now)
          const one = 'which' in did ? all[did.which] : undefined
          if (did.kind === 'begin') {
            const { hold, time } = requestOf(did.priceUs, now)
            own.begin(hold)
            time.change('parked', now)
            const naive = new Recounted(did.priceUs)
            naive.pass(now)
            all.push({ hold, time, naive })
          } else if (did.kind === 'charge') {
            own.charge(did.us)
            charged += did.us
          } else if (one && did.kind === 'excuse') {
            one.time.leaveOut(one.naive.excuse(did.us))
          } else if (one && did.kind !== 'excuse' && one.naive.state !== 'ended') {
            const state = ({ start: 'running', park: 'parked', wait: 'awaitingClient', end: 'ended' } as const)[
              did.kind
            ]
            if (did.kind === 'end') own.end(one.hold, now)
            else if (did.kind === 'start' && one.hold.beforeUs < 0) own.start(one.hold, now)
            if (one.hold.beforeUs < 0 && did.kind !== 'end') continue
            one.time.change(state === 'parked' ? 'idle' : state, now)
            one.naive.turn(state, now)
          }
          const sum = (of: 'usedUs' | 'excusedUs' | 'pricedUs') =>
            all.reduce((total, { naive }) => total + naive[of], 0)
          assert.equal(own.at(now).usedUs, sum('usedUs') + charged)
          assert.equal(own.at(now).excusedUs, sum('excusedUs'))
          assert.equal(own.at(now).pricedUs, sum('pricedUs'))
          assertIs(
            own.at(now).heldUs,
            atLeast(own.at(now).pricedUs),
            'an estimate is at least what is left of the price',
          )
          assert.equal(own.live.length, all.filter(({ naive }) => naive.state !== 'ended').length)
        }
      }),
      { numRuns: 500 },
    )
  })
})

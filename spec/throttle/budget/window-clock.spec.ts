// A process's estimate of the store's clock, and how sure it is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { WindowClock } from '../../../lib/throttle/budget/window-clock'
import { assertIs, atMost, below } from '../../support/until'

const FIRST = 1_000_000_000_000_000

/** A process's clock that runs faster or slower than the server's by this part. */
function drifting(part: number): (serverUs: number) => number {
  return (serverUs) => Math.round(serverUs * (1 + part))
}

describe('the clock of a store, as a process knows it', () => {
  it('is as sure as it says, however long replies take and however unequal the two ways are', () => {
    const reply = fc.record({ gap: fc.nat(3_000_000), there: fc.nat(3_000_000), back: fc.nat(3_000_000) })
    const part = fc.double({ min: -2e-4, max: 2e-4, noNaN: true })
    fc.assert(
      fc.property(part, fc.array(reply, { minLength: 1, maxLength: 30 }), (drift, replies) => {
        const local = drifting(drift)
        const clock = new WindowClock(FIRST, 1_000_000)
        let server = 0
        for (const { gap, there, back } of replies) {
          server += gap
          const sentAt = local(server)
          const time = FIRST + server + there
          server += there + back
          const now = local(server)
          clock.learn(sentAt, now, time)
          const off = Math.abs(clock.at(now) - FIRST - server)
          assertIs(off, atMost(clock.error(now) + 2), `${off} µs off, said ${clock.error(now)}`)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  it('keeps what it knows where a late reply says less', () => {
    const local = drifting(2e-4)
    const clock = new WindowClock(FIRST, 1_000_000)
    clock.learn(local(1_000_000), local(1_000_100), FIRST + 1_000_050)
    clock.learn(local(1_000_200), local(4_000_300), FIRST + 4_000_250) // 3 s there, 50 µs back
    const off = Math.abs(clock.at(local(4_000_300)) - FIRST - 4_000_300)
    assertIs(off, below(2_000), `${off} µs off`)
  })

  it('follows the server where its clock was set', () => {
    const clock = new WindowClock(FIRST, 1_000_000)
    clock.learn(0, 100, FIRST + 50)
    clock.learn(200, 400, FIRST - 5_000_000) // which took longer
    assert.equal(clock.at(400), FIRST - 5_000_000 + 100)
  })

  it('without a store is the process’s own', () => {
    assert.equal(new WindowClock(7, 0).error(1e12), 0)
  })
})

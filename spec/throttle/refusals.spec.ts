// What a process tells of its refusals: by reason, whom, and since when; bounded.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusals } from '../../lib/throttle/refusals'
import { manualClock } from '../../lib/testing'

describe('Refusals', () => {
  it('count the last minute by reason', () => {
    const clock = manualClock()
    const refusals = new Refusals(clock)
    assert.deepEqual(refusals.message(undefined), { reasons: {}, subjects: [], overload: undefined })
    for (const reason of ['spent', 'queue', 'spent']) refusals.add('day', 'ada', reason, 1)
    clock.advance(50_000)
    refusals.add('day', 'ada', 'spent', 1)
    assert.deepEqual(refusals.message(undefined).reasons, { spent: 3, queue: 1 })
    clock.advance(15_000)
    assert.deepEqual(refusals.message(undefined).reasons, { spent: 1 })
  })

  it('know since when a subject is refused in a window, until a minute after its Retry-After', () => {
    const clock = manualClock()
    const refusals = new Refusals(clock)
    const told = () => refusals.message(undefined).subjects
    refusals.add('day', 'ada', 'spent', 600)
    clock.advance(659_000)
    refusals.add('day', 'ada', 'spent', 1)
    refusals.add('hour', 'ada', 'queue', 1)
    assert.deepEqual(told(), [
      { subject: 'ada', window: 'day', count: 2, sinceMs: 659_000 },
      { subject: 'ada', window: 'hour', count: 1, sinceMs: 0 },
    ])
    clock.advance(61_001)
    assert.deepEqual(told(), [])
    refusals.add('day', 'ada', 'spent', 1)
    clock.advance(5)
    assert.deepEqual(told(), [{ subject: 'ada', window: 'day', count: 1, sinceMs: 5 }])
  })

  it('name the 20 refused most, and are bounded whoever is refused', () => {
    const clock = manualClock()
    const refusals = new Refusals(clock)
    const flood = (name: string) => {
      for (let i = 0; i < 5_000; i++) refusals.add('day', `${name}${i}`, 'spent', 1)
    }
    flood('first')
    for (let i = 0; i < 3; i++) refusals.add('day', 'first7', 'spent', 1)
    const { reasons, subjects } = refusals.message(undefined)
    assert.deepEqual([reasons.spent, subjects.length, subjects[0]?.subject], [5_003, 20, 'first7'])
    flood('others')
    assert.equal(
      refusals.message(undefined).subjects.some(({ subject }) => subject.startsWith('others')),
      false,
    )
    clock.advance(62_000)
    flood('later')
    assert.equal(
      refusals.message(undefined).subjects.every(({ subject }) => subject.startsWith('later')),
      true,
    )
  })
})

// manualClock(): it moves when told, forwards alone.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '../../lib/testing'

describe('manualClock()', () => {
  it('stands still until it is told otherwise', () => {
    const clock = manualClock(1_000)
    assert.deepEqual([clock.now(), clock.date()], [0, 1_000])
    clock.advance(1.5)
    assert.deepEqual([clock.now(), clock.date()], [1.5, 1_001.5])
    clock.setDate(5)
    clock.advance(1)
    assert.deepEqual([clock.now(), clock.date()], [2.5, 6])
  })

  it('does not fire what was cancelled', () => {
    const clock = manualClock()
    const cancel = clock.after(1, () => assert.fail('fired'))
    cancel()
    cancel()
    clock.advance(10)
  })

  it('does not go back', () => {
    for (const ms of [-1, NaN, Infinity]) assert.throws(() => manualClock().advance(ms), RangeError)
  })
})

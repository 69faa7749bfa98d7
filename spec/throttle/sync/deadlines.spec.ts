import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../../lib/index'
import { Deadlines } from '../../../lib/throttle/sync/deadlines'
import { manualClock } from '../../../lib/testing/index'

interface Thing {
  readonly name: string
  open: boolean
  /** What is settled with it. */
  settles?: Thing
}

/** Deadlines of 70 ms, with what was missed and how many timers they have set. */
function deadlines() {
  const manual = manualClock()
  const timers: number[] = []
  /** For so long the process did nothing, and no timer went off. */
  let busyMs = 0
  const clock: Clock = {
    now: () => manual.now() + busyMs,
    date: () => manual.date(),
    after: (ms, fn) => {
      timers.push(ms)
      return manual.after(ms, fn)
    },
  }
  const missed: [string, number][] = []
  const begun = manual.now()
  const looks: string[] = []
  const set = new Deadlines<Thing>(
    clock,
    70,
    ({ name, open }) => {
      looks.push(name)
      return open
    },
    ({ name, settles }) => {
      missed.push([name, Math.round(manual.now() - begun)])
      if (settles) settles.open = false
    },
  )
  const add = (name: string): Thing => {
    const thing = { name, open: true }
    set.add(thing)
    return thing
  }
  const isBusy = (ms: number) => void (busyMs += ms)
  return { add, advance: (ms: number) => manual.advance(ms), isBusy, missed, timers, looks }
}

describe('Deadlines', () => {
  it('are missed once, in their order, each at its own time, and not where they were kept', () => {
    const { add, advance, missed } = deadlines()
    add('a')
    advance(10)
    const b = add('b')
    add('c')
    advance(20)
    add('d')
    b.open = false
    advance(200)
    assert.deepEqual(missed, [
      ['a', 70],
      ['c', 80],
      ['d', 100],
    ])
  })

  it('are not missed where what was missed before has settled them', () => {
    const { add, advance, missed } = deadlines()
    const first = add('first')
    first.settles = add('with it')
    advance(100)
    assert.deepEqual(missed, [['first', 70]])
  })

  it('where the process was busy meanwhile, have half of their length from when it goes on', () => {
    const { add, advance, isBusy, missed } = deadlines()
    const answered = add('answered 34 ms after that')
    add('not answered')
    isBusy(700)
    advance(70) // the timer goes off 700 ms late
    advance(34)
    assert.equal(missed.length, 0)
    answered.open = false
    advance(3)
    assert.deepEqual(
      missed.map(([name]) => name),
      ['not answered'],
    )
  })

  it('keep nothing of those that were kept once others are set', () => {
    const { add, advance, looks } = deadlines()
    for (let ms = 0; ms < 60; ms++) {
      const thing = add(String(ms))
      advance(1)
      thing.open = false
    }
    looks.splice(0)
    advance(10)
    assert.deepEqual(new Set(looks), new Set(['59']))
  })

  it('wake nobody, where all are kept, but once in their length', () => {
    const { add, advance, missed, timers } = deadlines()
    for (let ms = 0; ms < 700; ms++) {
      const thing = add(String(ms))
      advance(1)
      thing.open = false
    }
    advance(200)
    assert.deepEqual(missed, [])
    assert.ok(timers.length <= 700 / 70 + 1, `${timers.length} timers`)
  })
})

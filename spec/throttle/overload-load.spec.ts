// Shedding load on a simulated event loop: who is answered, who is refused, and for how long.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Overload, nextShare } from '../../lib/throttle/overload/overload'
import { Random } from './simulation/random'
import { assertIs, atLeast, atMost, above } from '../support/until'

/** Handlers block the event loop for so long: 200 requests a second are its capacity. A refusal takes some time, too. */
const WORK_MS = 5
const REFUSAL_MS = 0.15
const PER_SEC = 1_000 / WORK_MS
/** Prices are higher than what a request takes. */
const PRICE_US = 2 * WORK_MS * 1_000
/** An answer that comes later helps nobody. */
const GOOD_MS = 1_000

interface Asker {
  readonly subject: string
  readonly perSec: number
}

interface Outcome {
  readonly subject: string
  readonly atMs: number
  readonly isRefused: boolean
  readonly tookMs: number
}

/** An event loop in simulated time: each turn calls the timers that are due, then handles all requests that have come. */
function run(askers: readonly Asker[], loadedMs: number, afterMs: number, seed: number): Outcome[] {
  const random = new Random(seed)
  const arrivals = askers.flatMap(({ subject, perSec }) => [
    ...times(random, perSec, 0, loadedMs).map((atMs) => ({ subject, atMs })),
    ...times(random, (perSec / totalOf(askers)) * 0.1 * PER_SEC, loadedMs, loadedMs + afterMs).map((atMs) => ({
      subject,
      atMs,
    })),
  ])
  arrivals.sort((a, b) => a.atMs - b.atMs)
  let now = 0
  const timers = new Map<() => void, number>()
  const after = (ms: number, fn: () => void) => {
    timers.set(fn, now + ms)
    return () => void timers.delete(fn)
  }
  const overload = new Overload({ now: () => now, date: () => now, after }, () => random.fraction())
  overload.join({ loopDelayMs: 100, isOverloaded: undefined })
  const outcomes: Outcome[] = []
  for (let next = 0; next < arrivals.length;) {
    for (const [fn, dueAt] of timers)
      if (dueAt <= now) {
        timers.delete(fn)
        fn()
      }
    const turnBegan = now
    for (let arrival = arrivals[next]; arrival && arrival.atMs <= turnBegan; arrival = arrivals[++next]) {
      const request = {}
      const isRefused = overload.refuses(request, arrival.subject, PRICE_US)
      now += isRefused ? REFUSAL_MS : WORK_MS
      if (!isRefused) overload.took(request, arrival.subject, WORK_MS * 1_000)
      outcomes.push({ ...arrival, isRefused, tookMs: now - arrival.atMs })
    }
    if (now === turnBegan) now = Math.max(now, Math.min(arrivals[next]?.atMs ?? now, ...timers.values()))
  }
  return outcomes
}

const totalOf = (askers: readonly Asker[]) => askers.reduce((sum, { perSec }) => sum + perSec, 0)

/** Poisson arrivals. */
function times(random: Random, perSec: number, fromMs: number, untilMs: number): number[] {
  const found: number[] = []
  for (let at = fromMs; ; found.push(at)) {
    at += random.exponential(1_000 / perSec)
    if (at >= untilMs) return found
  }
}

const users = (name: string, count: number, perSec: number) =>
  Array.from({ length: count }, (_, i) => ({ subject: `${name}-${i}`, perSec: perSec / count }))
const part = (some: readonly Outcome[], of: (outcome: Outcome) => boolean) => some.filter(of).length / some.length
const isRefused = (outcome: Outcome) => outcome.isRefused
const quantile = (values: number[], q: number) => values.sort((a, b) => a - b)[Math.floor(values.length * q)] as number
/** Useful answers, as a part of the capacity. */
const goodput = (outcomes: readonly Outcome[], fromMs: number, untilMs: number) =>
  outcomes.filter(({ isRefused, tookMs, atMs }) => !isRefused && tookMs <= GOOD_MS && atMs >= fromMs && atMs < untilMs)
    .length /
  ((PER_SEC * (untilMs - fromMs)) / 1_000)

const SEEDS = [1, 2, 3]

describe('throttle({ overload: true }) on a simulated event loop', () => {
  it('answers equal users in proportion from the second second on, at three times the capacity', () => {
    for (const seed of SEEDS) {
      const outcomes = run(users('user', 50, 3 * PER_SEC), 15_000, 0, seed)
      assertIs(goodput(outcomes, 1_000, 15_000), atLeast(0.85), `seed ${seed}: ${goodput(outcomes, 1_000, 15_000)}`)
      for (let s = 1; s < 15; s++) {
        const answered = goodput(outcomes, s * 1_000, (s + 1) * 1_000)
        assertIs(answered, atLeast(0.6), `seed ${seed}, second ${s}: ${answered}`)
      }
    }
  })

  it('refuses the users who ask for most, though all are far below their limits', () => {
    const askers = [...users('heavy', 5, 1.2 * PER_SEC), ...users('light', 100, 0.8 * PER_SEC)]
    const refused: Outcome[] = []
    for (const seed of SEEDS) {
      const outcomes = run(askers, 20_000, 0, seed)
      const light = outcomes.filter(({ subject }) => subject.startsWith('light'))
      const answered = light.filter((outcome) => !outcome.isRefused).map(({ tookMs }) => tookMs)
      assertIs(quantile(answered, 0.99), atMost(600), `seed ${seed}: p99 ${quantile(answered, 0.99)} ms`)
      assertIs(quantile(outcomes.map(({ tookMs }) => tookMs), 0.95), atMost(250), `seed ${seed}`) // prettier-ignore
      assertIs(goodput(outcomes, 0, 20_000), atLeast(0.8), `seed ${seed}: ${goodput(outcomes, 0, 20_000)}`)
      refused.push(...light)
    }
    assertIs(part(refused, isRefused), atMost(0.03))
  })

  it('refuses nobody half a second after the load has ended', () => {
    for (const seed of SEEDS)
      for (const askers of [users('user', 50, 3 * PER_SEC), users('heavy', 2, 10 * PER_SEC)]) {
        const outcomes = run(askers, 5_000, 5_000, seed)
        const afterwards = outcomes.filter(({ atMs }) => atMs >= 5_600)
        assertIs(afterwards.length, above(20))
        assert.equal(part(afterwards, isRefused), 0, `seed ${seed}`)
      }
  })

  it('answers something at ten times the capacity', () => {
    for (const seed of SEEDS) {
      const answered = goodput(run(users('user', 50, 10 * PER_SEC), 5_000, 0, seed), 1_000, 5_000)
      assertIs(answered, above(0.2), `seed ${seed}: ${answered}`)
    }
  })

  it('lets in a fiftieth of the work at least, however late the event loop is', () => {
    let share = 1
    for (let step = 0; step < 99; step++) share = nextShare(share, 99, false)
    assert.equal(share, 0.02)
  })

  const guestsOf = (networkOf: (i: number) => string, count: number, perSec: number) =>
    Array.from({ length: count }, (_, i) => ({ subject: `address:${networkOf(i)}`, perSec: perSec / count }))
  const hex = (i: number) => (i << 8).toString(16)

  for (const [whose, networkOf] of [
    ['one /48', (i: number) => `2001:db8:55:${hex(i)}::/56`],
    ['four /48 of two blocks', (i: number) => `2001:db${i & 1}:5${i & 2}:${hex(i)}::/56`],
    ['one IPv4 /16', (i: number) => `198.51.${i}.7`],
    ['as many blocks', (i: number) => `198.${i}.0.7`],
  ] as const) {
    it(`lets signed-in users in before guests from 256 networks of ${whose}`, () => {
      const askers = [
        ...users('light', 10, 0.1 * PER_SEC),
        ...users('heavy', 5, PER_SEC),
        ...guestsOf(networkOf, 256, PER_SEC),
      ]
      const outcomes = run(askers, 10_000, 0, 1)
      const of = (who: string) => part(outcomes.filter(({ subject }) => subject.startsWith(who)), isRefused) // prettier-ignore
      assertIs(of('light'), atMost(0.03), `light ${of('light')}`)
      assertIs(of('address'), atLeast(of('heavy') - 0.1), `guests ${of('address')}, heavy users ${of('heavy')}`)
    })
  }
})

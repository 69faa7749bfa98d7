import { clearImmediate, setImmediate } from 'node:timers' // a window, as of jsdom, has none
import { optionError } from './help'
import { shown } from './options'

/** The source of time. Tests replace it with `manualClock()` of `express-tollgate/testing`. */
export interface Clock {
  /** Milliseconds with fractions, from any starting point, never going back. */
  now(): number
  /** Milliseconds since 1970, by the machine's clock. */
  date(): number
  /**
   * Calls `fn` once after `ms` milliseconds. With 0, data that has arrived on sockets is read first. Does not keep the
   * process alive. Returns a function that cancels the timer.
   */
  after(ms: number, fn: () => void): () => void
}

/** @throws {TypeError} unless `clock` is undefined or has the methods of a {@link Clock} */
export function checkClock(clock: Partial<Clock> | null | undefined): void {
  if (clock === undefined) return
  if ((['now', 'date', 'after'] as const).every((name) => typeof clock?.[name] === 'function')) return
  throw optionError(`clock must be a clock, as manualClock() makes one; received ${shown(clock)}`)
}

/** Node fires a timer at once if its delay does not fit in 31 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** The process's own clocks and timers. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  after(ms, fn) {
    if (ms <= 0) {
      const immediate = setImmediate(fn).unref() // a timer of 0 ms may fire before sockets are read
      return () => clearImmediate(immediate)
    }
    const timer = unref(setTimeout(fn, Math.min(ms, LONGEST_TIMER_MS)))
    return () => clearTimeout(timer)
  },
}

/** Lets the process end before the timer. Those of a window, as of jsdom and of Electron's renderer, are numbers. */
export function unref<T extends Partial<NodeJS.Timeout> | null | undefined>(timer: T): T {
  timer?.unref?.()
  return timer
}

/** A moment by both clocks. While a machine is suspended, `now()` may stand still; an administrator may set `date()`. */
export interface Moment {
  readonly now: number
  readonly date: number
}

/** Before every moment. */
export const NEVER: Moment = { now: -Infinity, date: -Infinity }

export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), date: clock.date() }
}

/** Milliseconds since a moment, by the clock that has gone further: what was kept over a suspension is old. */
export function sinceMs(clock: Clock, { now, date }: Moment): number {
  return Math.max(clock.now() - now, clock.date() - date)
}

/** The clock's `now()` in whole microseconds, the unit of every sum in this package. */
export function nowUs(clock: Clock): number {
  return Math.round(clock.now() * 1_000)
}

/** What to add to `nowUs()` for the microseconds since 1970, by the machine's clock. */
export function wallOffsetUs(clock: Clock): number {
  return Math.round(clock.date() * 1_000) - nowUs(clock)
}

/** Things that are looked at every so often, while there are any. */
export class Watch<T> {
  readonly #things = new Set<T>()
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #look: (thing: T) => boolean
  #isTimed = false

  /** @param look says whether the thing is to be looked at again */
  constructor(clock: Clock, everyMs: number, look: (thing: T) => boolean) {
    this.#clock = clock
    this.#everyMs = everyMs
    this.#look = look
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#things.values()
  }

  add(thing: T): void {
    this.#things.add(thing)
    if (this.#isTimed) return
    this.#isTimed = true
    this.#clock.after(this.#everyMs, () => {
      this.#isTimed = false
      const all = [...this.#things]
      this.#things.clear()
      for (const each of all) if (this.#look(each)) this.add(each)
    })
  }

  /** Looks at nothing of what was added so far. */
  clear(): void {
    this.#things.clear()
  }
}

import { type Clock, nowUs } from '../../http/clock'
import { type Engine, answer } from '../window/engine'
import type { SubjectWindow } from '../window/subject-window'

/** How often waiting requests are looked at, beside whenever a request of their subject ends here. */
const LOOK_MS = 25

/**
 * Looks at the requests of one window that wait: soon after a request of their subject has ended here, and by a timer
 * that runs only while some wait.
 */
export class WaitingLine {
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #ask: (s: SubjectWindow) => void
  readonly #ended = new Set<SubjectWindow>()
  #isTimed = false

  /** @param ask asks the store about a subject whose requests wait */
  constructor(engine: Engine, clock: Clock, ask: (s: SubjectWindow) => void) {
    this.#engine = engine
    this.#clock = clock
    this.#ask = ask
  }

  /** A request of a subject of whom others wait has ended: looks once what it took is known to whoever prices the next. */
  lookSoon(s: SubjectWindow): void {
    if (this.#ended.size === 0) queueMicrotask(() => this.#lookAtEnded())
    this.#ended.add(s)
  }

  #lookAtEnded(): void {
    const ended = [...this.#ended]
    this.#ended.clear()
    for (const s of ended) this.#look(s)
  }

  /** Keeps the timer going while requests wait. */
  arm(): void {
    if (this.#isTimed || this.#engine.waiting.size === 0) return
    this.#isTimed = true
    this.#clock.after(LOOK_MS, () => {
      this.#isTimed = false
      for (const s of [...this.#engine.waiting]) this.#look(s)
      this.arm()
    })
  }

  #look(s: SubjectWindow): void {
    const now = nowUs(this.#clock)
    this.#engine.enter(s, now)
    answer(this.#engine.decideWaiting(s, 'memory', now))
    if (s.waiting.length > 0 && s.isAskDue(now)) this.#ask(s)
  }
}

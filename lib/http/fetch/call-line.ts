import type { Clock } from '../clock'

/** Calls to one issuer that run at once. */
const MOST_RUNNING = 16
/** Those of them that only a client without a running call may make: no client can take all. */
const FOR_OTHERS = 4
/** Calls that wait for their turn. */
const MOST_WAITING = 256
const LONGEST_WAIT_MS = 100

/** A call that waits: begins when it is let in. */
interface Waiting {
  readonly from: unknown
  readonly begin: () => void
}

/**
 * Bounds the calls to one issuer, since anybody can cause them with made-up tokens. 16 run at once. Others wait up to
 * 100 ms for their turn, first come, first served.
 */
export class CallLine {
  readonly #clock: Clock
  /** Running calls, each with its client. */
  readonly #running: unknown[] = []
  readonly #waiting = new Set<Waiting>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Makes a call when it is its turn; undefined if that took too long, or too many wait.
   *
   * @param from the client's connection; undefined if it is unknown
   */
  async run<Answer>(call: () => Promise<Answer>, from: unknown = {}): Promise<Answer | undefined> {
    if (this.#hasPlace(from)) this.#running.push(from)
    else if (!(await this.#wasLetIn(from))) return undefined
    try {
      return await call()
    } finally {
      this.#running.splice(this.#running.indexOf(from), 1)
      this.#letIn()
    }
  }

  #hasPlace(from: unknown): boolean {
    const most = this.#running.includes(from) ? MOST_RUNNING - FOR_OTHERS : MOST_RUNNING
    return this.#running.length < most
  }

  #wasLetIn(from: unknown): Promise<boolean> {
    if (this.#waiting.size >= MOST_WAITING) return Promise.resolve(false)
    return new Promise((resolve) => {
      const end = (isLetIn: boolean) => {
        cancel()
        this.#waiting.delete(waiting)
        resolve(isLetIn)
      }
      const waiting = { from, begin: () => end(true) }
      const cancel = this.#clock.after(LONGEST_WAIT_MS, () => end(false))
      this.#waiting.add(waiting)
    })
  }

  #letIn(): void {
    for (const { from, begin } of this.#waiting) {
      if (!this.#hasPlace(from)) continue
      this.#running.push(from)
      return begin()
    }
  }
}

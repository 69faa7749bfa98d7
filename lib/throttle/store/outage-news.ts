import { type Clock } from '../../http/clock'
import { warn } from '../../http/warn-once'

/** Outages are warned of at most so often; those between are told together. */
const EVERY_MS = 60_000

/** What is printed of one server's outages: the first and its end, then once a minute how many more there were. */
export class OutageNews {
  readonly #clock: Clock
  readonly #place: () => string | undefined
  #beganAt = 0
  /** The present outage was printed. */
  #isPrinted = false
  /** Outages that were not printed, and how long they took. */
  #untold = 0
  #untoldMs = 0
  /** Ends the minute in which nothing more is printed; undefined outside of it. */
  #cancelMinute: (() => void) | undefined

  /** @param place where the server is */
  constructor(clock: Clock, place: () => string | undefined) {
    this.#clock = clock
    this.#place = place
  }

  began(message: string): void {
    this.#beganAt = this.#clock.now()
    this.#isPrinted = this.#cancelMinute === undefined
    if (!this.#isPrinted) return
    warn('TOLLGATE_DEGRADED', message)
    this.#startMinute()
  }

  ended(): void {
    const ms = this.#clock.now() - this.#beganAt
    if (this.#isPrinted) return warn('TOLLGATE_RECOVERED', `${this.#store} answers again after ${seconds(ms)}`)
    this.#untold++
    this.#untoldMs += ms
  }

  close(): void {
    this.#cancelMinute?.()
  }

  #startMinute(): void {
    this.#cancelMinute = this.#clock.after(EVERY_MS, () => {
      this.#cancelMinute = undefined
      if (this.#untold === 0) return
      const times = this.#untold === 1 ? 'once more' : `${this.#untold} more times`
      warn(
        'TOLLGATE_DEGRADED',
        `${this.#store} did not answer ${times} in the last minute, for ${seconds(this.#untoldMs)} in all`,
      )
      this.#untold = this.#untoldMs = 0
      this.#startMinute()
    })
  }

  get #store(): string {
    const place = this.#place()
    return `the throttle's store${place === undefined ? '' : ` at ${place}`}`
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

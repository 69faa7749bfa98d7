import type { Clock } from '../../http/clock'
import { type TimeLimit, TimeoutError } from '../../http/deadline'
import { codedError } from '../../http/help'
import { shown } from '../../http/options'
import { warn } from '../../http/warn-once'
import { type StoreMessage, channels } from '../events'

/** Shortest time between two warnings of one server's outages, or of unreadable records. */
const EVERY_MS = 60_000

/** Where a server is, and what requests get without it: for messages. */
export interface OutagePlace {
  readonly clock: Clock
  /** The store given to `throttle()`, and which of its servers: see {@link StoreMessage}. */
  readonly about: Pick<StoreMessage, 'store' | 'server'>
  /** `redis.test:6379` */
  place(): string | undefined
  /** `requests get 503 (onOutage: 'closed')` */
  meanwhile(): string
}

/** Says when a server goes down and comes back: to channels, to those who wait for it, and as warnings, at most one a minute. */
export class OutageNews {
  readonly #of: OutagePlace
  /** The present outage, by its newest cause. */
  #outage: Error | undefined
  #beganAt = 0
  /** What was printed of it: its text. And when a line was printed last. */
  #printed: string | undefined
  #printedAt = -Infinity
  #unreadableAt = -Infinity
  readonly #waiting = new Set<{ readonly resolve: () => void; readonly reject: (reason: Error) => void }>()

  constructor(of: OutagePlace) {
    this.#of = of
  }

  /** Resolves with the next {@link ended}. @throws {Error} with the warning's message: an outage is known of or begins, or time is over */
  async answers(time: TimeLimit): Promise<void> {
    if (this.#outage) throw this.#outage
    const settled = new Promise<void>((resolve, reject) => this.#waiting.add({ resolve, reject }))
    await time.within(settled).catch((err: unknown) => {
      throw err instanceof TimeoutError ? this.#failure(err) : err
    })
  }

  #failure(cause: unknown): Error {
    return codedError('TOLLGATE_DEGRADED', this.#text(cause), Error, { cause })
  }

  #text(cause: unknown): string {
    const why = reasonOf(cause)
    const place = this.#of.place()
    const store = place !== undefined && why.includes(place) ? "the throttle's store" : this.#store
    return `${store} does not answer: ${why}. Until it answers, ${this.#of.meanwhile()}`
  }

  /** The cause of the present outage, for people. */
  get cause(): string | undefined {
    return this.#outage && reasonOf(this.#outage.cause)
  }

  /** The server does not answer, or still does not. Prints each cause once, and at most one a minute. */
  isDown(cause: unknown): void {
    const now = this.#of.clock.now()
    if (this.#outage === undefined) {
      this.#beganAt = now
      channels.degraded.publish({ ...this.#of.about, cause } satisfies StoreMessage)
    }
    // A refusal says more than a later silence: the client pauses between its attempts.
    if (this.#outage === undefined || !(cause instanceof TimeoutError)) this.#outage = this.#failure(cause)
    const text = this.#text(this.#outage.cause)
    if (text !== this.#printed && now - this.#printedAt >= EVERY_MS) {
      this.#printed = text
      this.#printedAt = now
      warn('TOLLGATE_DEGRADED', text)
    }
    for (const { reject } of this.#waiting) reject(this.#outage)
    this.#waiting.clear()
  }

  /** The server answers. */
  ended(): void {
    this.#settle(() => {
      if (this.#printed === undefined) return
      const seconds = ((this.#of.clock.now() - this.#beganAt) / 1_000).toFixed(1)
      warn('TOLLGATE_RECOVERED', `${this.#store} answers again after ${seconds} s`)
    })
  }

  /** The server has an account that cannot be read. */
  unreadable(window: string, cause = ''): void {
    const now = this.#of.clock.now()
    if (now - this.#unreadableAt < EVERY_MS) return
    this.#unreadableAt = now
    const place = this.#of.place()
    warn(
      'TOLLGATE_UNREADABLE',
      `the throttle cannot read an account of window ${JSON.stringify(window)}${place ? ` at ${place}` : ''} (${cause}); ` +
        'this process decides alone about its subject. Delete the key, and give other programs another prefix',
    )
  }

  /** The server is not asked any more. */
  close(): void {
    this.#settle(() => undefined)
  }

  #settle(print: () => void): void {
    if (this.#outage) {
      channels.recovered.publish(this.#of.about satisfies StoreMessage)
      print()
    }
    this.#outage = this.#printed = undefined
    for (const { resolve } of this.#waiting) resolve()
    this.#waiting.clear()
  }

  get #store(): string {
    const place = this.#of.place()
    return `the throttle's store${place === undefined ? '' : ` at ${place}`}`
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : shown(cause)
}

import { inspect } from 'node:util'
import { nowUs } from '../../http/clock'
import type { RequestBudget } from './budget'
import type { ThrottledRequest } from './request'
import { type RequestHold, accountOf, leftUs, tightest } from './window'

/** A {@link RequestBudget} that reads the request, for as long as the app likes. */
export class ShownBudget implements RequestBudget {
  readonly #request: ThrottledRequest

  constructor(request: ThrottledRequest) {
    this.#request = request
  }

  get #now(): number {
    return nowUs(this.#request.time.clock)
  }

  /** The hold in the account with the least time left: it is shown once the request has one. */
  #least(now = this.#now): RequestHold {
    return tightest(this.#request.firstHold, now) as RequestHold
  }

  get subject(): string {
    return this.#least().subject
  }

  get window(): string {
    return this.#least().window.budgets.name
  }

  get limitMs(): number {
    return this.#least().limitUs / 1_000
  }

  get spentMs(): number {
    const now = this.#now
    return accountOf(this.#least(now), now).usedUs(now) / 1_000
  }

  get leftMs(): number {
    const now = this.#now
    return Math.max(0, leftUs(this.#least(now), now)) / 1_000
  }

  get endsInMs(): number {
    const now = this.#now
    return Math.ceil(accountOf(this.#least(now), now).endsInUs(now)) / 1_000
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }

  charge(ms: number): void {
    void this.#request.charge(ms)
  }

  settle(): void {
    this.#request.time.settle()
  }

  toJSON(): ReturnType<RequestBudget['toJSON']> {
    const { subject, window, limitMs, spentMs, leftMs, endsInMs } = this
    return { subject, window, limitMs, spentMs, leftMs, endsInMs }
  }

  [inspect.custom](): ReturnType<RequestBudget['toJSON']> {
    return this.toJSON()
  }
}

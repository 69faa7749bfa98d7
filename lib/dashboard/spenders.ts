import { nowUs } from '../http/clock'
import { subjectKey } from '../throttle/subject'
import { subjectId } from '../throttle/budget/subjects'
import type { SubjectDigest } from '../throttle/budget/subjects'
import type { ThrottleIntrospection } from '../throttle/introspection'
import type { PublishedWindow } from '../inspect/published-window'

/** At twice this number of subjects, only those that have used most time are kept. */
const KEPT = 1_000

/** Somebody who asked this process for time. */
export interface Spender extends Omit<PublishedWindow, 'processes' | 'overLimitMs' | 'refusedForMs' | 'limitMs'> {
  /** As `req.throttle.subject`. */
  readonly name: string
  /** Of the latest request; null before the first. */
  readonly limitMs: number | null
  /** Requests that wait for time, in this process. */
  readonly waiting: number
}

/** A subject of a window: its name, and the hash by which Redis knows it. */
type Seen = Pick<Spender, 'window' | 'name' | 'subject'>

/** Who spends time in the windows open now, as far as this process knows. Bounded. */
export class Spenders {
  readonly #inside: ThrottleIntrospection
  readonly #seen = new Map<string, Seen>()

  constructor(inside: ThrottleIntrospection) {
    this.#inside = inside
  }

  saw(window: string, name: string): void {
    const key = `${window}\n${name}`
    if (this.#seen.has(key)) return
    this.#seen.set(key, { window, name, subject: this.hashOf(name) })
    if (this.#seen.size >= 2 * KEPT) for (const each of this.all().slice(KEPT)) this.#forget(each)
  }

  /** The hash by which the throttle's store knows a subject. */
  hashOf(subject: string): string {
    return hashOf(subject, this.#inside.shared?.store.digest)
  }

  /** Who has spent most first. Those whose window has ended are let go. */
  all(): Spender[] {
    const now = nowUs(this.#inside.clock)
    const found: Spender[] = []
    for (const [key, seen] of this.#seen) {
      const spender = this.#spender(seen, now)
      if (spender === undefined || (spender.spentMs <= 0 && spender.running === 0)) this.#seen.delete(key)
      else found.push(spender)
    }
    return found.sort((a, b) => b.spentMs - a.spentMs)
  }

  #spender(seen: Seen, now: number): Spender | undefined {
    const accounts = this.#inside.windows.find(({ policy }) => policy.name === seen.window)?.accounts
    if (accounts === undefined) return undefined
    const account = accounts.account(subjectKey(seen.name))
    return {
      ...seen,
      spentMs: Math.max(0, Math.floor(account.usedUs(now) / 1_000)),
      limitMs: account.limitUs > 0 ? account.limitUs / 1_000 : null,
      holdMs: Math.round(account.own.at(now).heldUs / 1_000),
      running: account.own.live.length + account.heard.running,
      waiting: account.line.length,
      endsInMs: Math.round(account.endsInUs(now) / 1_000),
    }
  }

  #forget({ window, name }: Spender): void {
    this.#seen.delete(`${window}\n${name}`)
  }
}

/** The hash by which Redis knows a subject. @param digest that of its store */
export function hashOf(subject: string, digest?: SubjectDigest): string {
  return subjectId(subjectKey(subject), 1, digest).id
}

import { isAddressSubject, blockOfSubject } from '../subject'

/** Work counts less with time: by half in 7 s. */
const MEMORY_MS = 10_000
/** Payers that are told apart; work of further ones counts as that of one. */
const MOST_PAYERS = 10_000
const EVERYBODY_ELSE = ''
/** A payer with less is forgotten. */
const FORGOTTEN_US = 10

/** What one payer asked for: a user, an app, or all guests of one block of addresses. */
interface Asked {
  us: number
  /** When `us` was right, in ms of the clock. */
  at: number
  readonly isGuest: boolean
}

/**
 * How much work each payer asked a process for in the last seconds: the prices of its requests, also of refused ones.
 * The work of guests is that of their whole block, and counts as no less than that of the user who asked for most. So
 * many addresses help nobody, and no signed-in user is refused for the sake of guests.
 */
export class AskedWork {
  readonly #byPayer = new Map<string, Asked>()
  /** Work of the user who asked for most, when all payers were last looked at. */
  #mostUs = 0
  #lookedAt = -Infinity

  /** Counts work, or takes some back. @returns what its payer asked for, in µs */
  add(subject: string, us: number, now: number): number {
    if (now - this.#lookedAt > MEMORY_MS) this.#look(now)
    const isGuest = isAddressSubject(subject)
    const asked = this.#of(isGuest ? blockOfSubject(subject) : subject, isGuest, now)
    asked.us = left(asked, now) + us
    asked.at = now
    return this.#weight(asked.us, isGuest)
  }

  /**
   * The amount of work per payer at which `share` of all work is let in. All work of a payer who asked for less is let
   * in, and this amount of one who asked for more. Microseconds, as {@link add} returns them.
   */
  level(share: number, now: number): number {
    this.#look(now)
    const payers: { us: number; weight: number }[] = []
    for (const { us, isGuest } of this.#byPayer.values()) payers.push({ us, weight: this.#weight(us, isGuest) })
    payers.sort((a, b) => a.weight - b.weight)
    let leftUs = share * payers.reduce((sum, { us }) => sum + us, 0)
    let parts = payers.reduce((sum, { us, weight }) => sum + us / weight, 0)
    for (const { us, weight } of payers) {
      if (weight * parts >= leftUs) return leftUs / parts
      leftUs -= us
      parts -= us / weight
    }
    return Infinity
  }

  clear(): void {
    this.#byPayer.clear()
    this.#mostUs = 0
  }

  #of(payer: string, isGuest: boolean, now: number): Asked {
    const known = this.#byPayer.get(payer)
    if (known !== undefined) return known
    if (payer !== EVERYBODY_ELSE && this.#byPayer.size >= MOST_PAYERS) return this.#of(EVERYBODY_ELSE, isGuest, now)
    const asked = { us: 0, at: now, isGuest }
    this.#byPayer.set(payer, asked)
    return asked
  }

  #weight(us: number, isGuest: boolean): number {
    return isGuest ? Math.max(us, this.#mostUs) : us
  }

  /** Brings the work of all payers up to date, and forgets payers without any. */
  #look(now: number): void {
    this.#lookedAt = now
    this.#mostUs = 0
    for (const [payer, asked] of this.#byPayer) {
      asked.us = left(asked, now)
      asked.at = now
      if (asked.us < FORGOTTEN_US) this.#byPayer.delete(payer)
      else if (!asked.isGuest) this.#mostUs = Math.max(this.#mostUs, asked.us)
    }
  }
}

function left({ us, at }: Asked, now: number): number {
  return us * Math.exp((at - now) / MEMORY_MS)
}

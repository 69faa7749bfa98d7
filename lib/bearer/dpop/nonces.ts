import { createHmac, timingSafeEqual } from 'node:crypto'

interface Made {
  readonly step: number
  readonly current: string
  readonly previous: string
}

/**
 * Nonces for proofs (RFC 9449 §9). They are derived from the time, so nothing is stored. A nonce is issued for `stepSec`
 * and accepted for another `stepSec`. All processes with one secret make the same nonces.
 */
export class Nonces {
  #made: Made | undefined

  constructor(
    readonly secret: Uint8Array,
    readonly stepSec: number,
  ) {}

  /** Nonce to use now. */
  current(nowSec: number): string {
    return this.#at(nowSec).current
  }

  /** Compares a proof's nonce with the current and the previous one. */
  judge(nonce: unknown, nowSec: number): 'current' | 'previous' | 'other' {
    const { current, previous } = this.#at(nowSec)
    if (typeof nonce !== 'string') return 'other'
    if (isSame(nonce, current)) return 'current'
    return isSame(nonce, previous) ? 'previous' : 'other'
  }

  #at(nowSec: number): Made {
    const step = Math.floor(nowSec / this.stepSec)
    if (this.#made?.step === step) return this.#made
    this.#made = { step, current: this.#make(step), previous: this.#make(step - 1) }
    return this.#made
  }

  #make(step: number): string {
    return createHmac('sha256', this.secret).update(`dpop-nonce:${this.stepSec}:${step}`).digest('base64url')
  }
}

function isSame(given: string, ours: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(ours)]
  return a.length === b.length && timingSafeEqual(a, b)
}

import { createHmac, timingSafeEqual } from 'node:crypto'

interface Made {
  readonly step: number
  readonly current: string
  readonly previous: string
}

/**
 * The nonces that a server gives out for proofs (RFC 9449 §9). They are made of the time, so that nothing is kept: one
 * is given out for `stepSec` and taken as long again. All processes of one secret make the same.
 */
export class Nonces {
  #made: Made | undefined

  constructor(
    readonly secret: Uint8Array,
    readonly stepSec: number,
  ) {}

  /** The one to use now. */
  current(nowSec: number): string {
    return this.#at(nowSec).current
  }

  /** What a proof's nonce is: the one to use now, the one before, or none of ours. */
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

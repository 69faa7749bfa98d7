import { hash } from 'node:crypto'
import type { Proof } from './proof'

/**
 * The proofs that a process has seen, for as long as they could be used again (RFC 9449 §11.1). Bounded: when it is
 * full of proofs that could, there is no telling a new one from a replay.
 */
export class SeenProofs {
  readonly #until = new Map<string, number>()

  /** @param most how many proofs it holds */
  constructor(readonly most: number) {}

  /**
   * Notes a proof that holds.
   *
   * @param untilSec when it can no longer be used, seconds since 1970
   * @returns what it is: new, a replay, or not to be told
   */
  note({ jkt, jti }: Proof, untilSec: number, nowSec: number): 'new' | 'replay' | 'full' {
    const name = hash('sha256', `${jkt}:${jti}`, 'base64')
    if ((this.#until.get(name) ?? -Infinity) >= nowSec) return 'replay'
    if (this.#until.size >= this.most) this.#forget(nowSec)
    if (this.#until.size >= this.most) return 'full'
    this.#until.set(name, untilSec)
    return 'new'
  }

  #forget(nowSec: number): void {
    for (const [name, untilSec] of this.#until) if (untilSec < nowSec) this.#until.delete(name)
  }
}

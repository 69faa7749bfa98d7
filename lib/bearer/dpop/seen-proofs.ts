/** What a proof is, to whoever remembers those that were used: new, used before, or not to be told. */
export type ProofUse = 'new' | 'replay' | 'full'

/** Remembers the proofs that were used, so that none is used twice (RFC 9449 §11.1). */
export interface SeenProofs {
  /**
   * Notes a proof that holds, unless it is there already, in one step.
   *
   * @param name the proof's, a hash
   * @param untilSec when it can no longer be used, seconds since 1970 by the clock of `nowSec`
   * @throws where it cannot be told; the request is answered with 503
   */
  note(name: string, untilSec: number, nowSec: number): ProofUse | Promise<ProofUse>
}

/**
 * The proofs that this process has seen, for as long as they could be used again. Bounded: when it is full of proofs
 * that could, there is no telling a new one from a replay.
 */
export class LocalProofs implements SeenProofs {
  readonly #until = new Map<string, number>()

  /** @param most how many proofs it holds */
  constructor(readonly most: number) {}

  note(name: string, untilSec: number, nowSec: number): ProofUse {
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

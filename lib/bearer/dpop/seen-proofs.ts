/** State of a proof: new, used before, or unknown because the memory is full. */
export type ProofUse = 'new' | 'replay' | 'full'

/** Memory of used proofs, so that none is used twice (RFC 9449 §11.1). */
export interface SeenProofs {
  /**
   * Records a valid proof as used, unless it is already recorded, in one atomic step.
   *
   * @param name hash of the proof
   * @param untilSec end of the proof's validity, in seconds since 1970 by the clock of `nowSec`
   * @throws if the state cannot be read; the request gets 503
   */
  note(name: string, untilSec: number, nowSec: number): ProofUse | Promise<ProofUse>
}

/**
 * Proofs that this process has seen, until their validity ends. Bounded: when it is full of valid proofs, a new one cannot
 * be told from a replay.
 */
export class LocalProofs implements SeenProofs {
  readonly #until = new Map<string, number>()

  /** @param most largest number of proofs */
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

/** State of a proof: new, used before, or unknown because the memory is full. */
export type ProofUse = 'new' | 'replay' | 'full'

/** Memory of used proofs, so that none is used twice (RFC 9449 §11.1). */
export interface SeenProofs {
  /**
   * Records a valid proof as used, unless it is already recorded, in one atomic step.
   *
   * @param name hash of the proof and its key
   * @param untilSec end of the proof's validity, in seconds since 1970 by the clock of `nowSec`
   * @param jkt thumbprint of the proof's key
   * @throws if the state cannot be read; the request gets 503
   */
  note(name: string, untilSec: number, nowSec: number, jkt: string): ProofUse | Promise<ProofUse>
}

/** Part of the memory that one key may fill. */
const SHARE = 1 / 100

/**
 * Proofs that this process has seen, until their validity ends. Bounded, and so is the part of each key: whoever holds a
 * key can fill no more than that. A new proof that finds no room cannot be told from a replay.
 */
export class LocalProofs implements SeenProofs {
  /** End of the validity of each proof, by key and name. No key has an empty map. */
  readonly #byKey = new Map<string, Map<string, number>>()
  /** Proofs of all keys. */
  #size = 0
  /** When the proofs of all keys were last looked through, in seconds. */
  #sweptSec = -Infinity

  /** @param most largest number of proofs */
  constructor(readonly most: number) {}

  note(name: string, untilSec: number, nowSec: number, jkt: string): ProofUse {
    const proofs = this.#byKey.get(jkt) ?? new Map<string, number>()
    if ((proofs.get(name) ?? -Infinity) >= nowSec) return 'replay'
    this.#forget(jkt, proofs, nowSec)
    if (this.#size >= this.most) this.#forgetOfAll(nowSec)
    if (this.#size >= this.most || proofs.size >= Math.max(1, this.most * SHARE)) return 'full'
    if (!proofs.has(name)) this.#size++
    this.#byKey.set(jkt, proofs.set(name, untilSec))
    return 'new'
  }

  /** Looks through all keys, at most once a second: while the memory is full, every request comes here. */
  #forgetOfAll(nowSec: number): void {
    if (nowSec - this.#sweptSec < 1) return
    this.#sweptSec = nowSec
    for (const [jkt, proofs] of this.#byKey) this.#forget(jkt, proofs, nowSec)
  }

  /** From the oldest on, up to the first that is still valid: nothing is looked at twice. */
  #forget(jkt: string, proofs: Map<string, number>, nowSec: number): void {
    for (const [name, untilSec] of proofs) {
      if (untilSec >= nowSec) return
      proofs.delete(name)
      this.#size--
    }
    this.#byKey.delete(jkt)
  }
}

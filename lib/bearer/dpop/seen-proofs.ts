import { OwnedRecords } from '../../http/owners'

/** State of a proof: new, used before, or unknown because its owner has used its share of the memory (`full`). */
export type ProofUse = 'new' | 'replay' | 'full'

/** Memory of used proofs, so that none is used twice (RFC 9449 §11.1). */
export interface SeenProofs {
  /**
   * Records a valid proof as used, unless it is already recorded, in one atomic step.
   *
   * @param name hash of the proof and its key
   * @param untilSec end of the proof's validity, in seconds since 1970 by the clock of `nowSec`
   * @param owner who proves: the user, the app, or the block of addresses of an app without a user
   * @throws if the state cannot be read; the request gets 503
   */
  note(name: string, untilSec: number, nowSec: number, owner: string): ProofUse | Promise<ProofUse>
}

/** Part of the memory that one owner may fill. */
const SHARE = 1 / 100

/**
 * Proofs that this process has seen, until their validity ends. An owner may fill 1 % of the memory; its further proofs
 * are refused. If the memory is full, the oldest proof of the heaviest owner is dropped: only that owner's own proof could
 * be replayed then.
 */
export class LocalProofs implements SeenProofs {
  /** End of the validity of each proof. */
  readonly #proofs: OwnedRecords<number>

  /** @param most largest number of proofs */
  constructor(most: number) {
    this.#proofs = new OwnedRecords(most)
  }

  note(name: string, untilSec: number, nowSec: number, owner: string): ProofUse {
    const proofs = this.#proofs
    if ((proofs.get(name) ?? -Infinity) >= nowSec) return 'replay'
    const isOver = (until: number) => until < nowSec
    for (let i = 0; i < 2; i++) proofs.dropOldest(isOver) // more than come in, so that proofs that are over cannot pile up
    while (proofs.dropOldest(isOver, owner));
    if (proofs.of(owner) >= Math.max(1, proofs.most * SHARE)) return 'full'
    proofs.set(name, untilSec, owner)
    return 'new'
  }
}

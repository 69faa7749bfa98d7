import type { Request, Response } from 'express'
import { fieldValues } from '../../bearer/credentials/credentials'
import { readProof } from '../../bearer/dpop/proof'
import type { SeenProofs } from '../../bearer/dpop/seen-proofs'
import type { Clock } from '../../http/clock'
import { hashOf } from '../../http/secret'
import { OAuthError } from '../oauth-error'
import type { Owner } from '../records/owners'
import type { Records } from '../records/records'
import type { Seal } from '../seal'

/** How the server takes DPoP proofs (RFC 9449). */
export interface DpopSettings {
  /** How old a proof may be, in seconds. */
  readonly maxProofAgeSec: number
  /** Whether a proof must have a nonce of this server (§8). */
  readonly nonce: boolean
}

/** How far the client's clock may be ahead: FAPI 2.0 Security Profile §5.3.2.1. */
const AHEAD_SEC = 10

/** The key that a request proves to hold. */
export interface KeyProof {
  /** Its thumbprint. */
  readonly jkt: string
  /** Records the proof as used: once the rest of the request is valid, so that a stranger records none. @throws {OAuthError} */
  readonly use: (owner: Owner) => Promise<void>
}

/** Reads the proofs of requests to this server (RFC 9449 §5). Each is good once, in whatever process. */
export class KeyProofs {
  constructor(
    private readonly issuer: string,
    private readonly settings: DpopSettings,
    private readonly seal: Seal,
    private readonly seen: SeenProofs,
    private readonly clock: Clock,
  ) {}

  /**
   * The request's proof, or undefined if it has none.
   *
   * @param path the endpoint's, below the issuer
   * @throws {OAuthError} invalid_dpop_proof, or use_dpop_nonce with the nonce to use
   */
  read(req: Request, res: Response, path: string): KeyProof | undefined {
    const [text, ...more] = fieldValues(req, 'dpop')
    if (text === undefined) return undefined
    const { maxProofAgeSec, nonce } = this.settings
    const nowSec = this.clock.date() / 1_000
    const about = {
      method: req.method,
      uri: this.issuer + path,
      token: undefined,
      nowSec,
      maxProofAgeSec,
      aheadSec: AHEAD_SEC,
    }
    const proof = more.length === 0 ? readProof(text, about) : undefined
    if (!proof) throw invalidProof()
    if (nonce) this.checkNonce(res, proof.nonce, nowSec)
    const { jkt, jti, iat } = proof
    return {
      jkt,
      use: async (owner) => {
        const noted = await this.seen.note(hashOf(`${jkt}:${jti}`), iat + maxProofAgeSec, nowSec, owner)
        if (noted !== 'new') throw invalidProof()
      },
    }
  }

  /** A nonce is sealed time: nothing is stored, and all processes with the signing keys accept it. */
  private checkNonce(res: Response, given: unknown, nowSec: number): void {
    const step = Math.floor(nowSec / this.settings.maxProofAgeSec)
    const current = this.seal.seal('dpop-nonce', step)
    const made = typeof given === 'string' ? this.seal.open('dpop-nonce', given) : undefined
    if (made === step) return
    res.setHeader('DPoP-Nonce', current)
    if (made === step - 1 || made === step + 1) return // a little old, or of a process whose clock is ahead
    throw new OAuthError('use_dpop_nonce', 'The DPoP proof must have the nonce of the DPoP-Nonce field.', 400)
  }
}

/** Remembers proofs in the server's store, for all its processes. */
export function recordProofs(records: Records): SeenProofs {
  return {
    async note(name, untilSec, nowSec, owner) {
      const ttlMs = Math.ceil((untilSec - nowSec) / KEPT_STEP_SEC) * KEPT_STEP_SEC * 1_000 + CLOCKS_APART_MS
      return (await records.isNew('proof', name, ttlMs, owner as Owner)) ? 'new' : 'replay'
    },
  }
}

/** Proofs are remembered for a multiple of this: the memory store expires entries of a few lifetimes without a search. */
const KEPT_STEP_SEC = 30
/** How far the clocks of processes may differ. Proofs are remembered that much longer. */
const CLOCKS_APART_MS = 30_000

function invalidProof(): OAuthError {
  return new OAuthError('invalid_dpop_proof', 'The DPoP proof is invalid, expired or was used before (RFC 9449).')
}

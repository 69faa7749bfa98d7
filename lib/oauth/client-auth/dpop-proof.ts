import type { Request, Response } from 'express'
import { fieldValues } from '../../bearer/credentials/credentials'
import { readProof } from '../../bearer/dpop/proof'
import type { SeenProofs } from '../../bearer/dpop/seen-proofs'
import { hashOf } from '../../http/secret'
import { OAuthError } from '../oauth-error'
import type { Records } from '../records/records'
import type { ServerContext } from '../server-context'

/**
 * The thumbprint of the key that the request proves to hold (RFC 9449 §5), or undefined if it has no proof. Each proof
 * is good once, in whatever process.
 *
 * @param path the endpoint's, below the issuer
 * @throws {OAuthError} invalid_dpop_proof, or use_dpop_nonce with the nonce to use
 */
export async function proofThumbprint(
  ctx: ServerContext,
  req: Request,
  res: Response,
  path: string,
): Promise<string | undefined> {
  const [text, ...more] = fieldValues(req, 'dpop')
  if (text === undefined) return undefined
  const { maxAgeSec, nonce } = ctx.dpop
  const nowSec = ctx.clock.date() / 1_000
  const about = { method: req.method, uri: ctx.issuer + path, token: undefined, nowSec, maxAgeSec }
  const proof = more.length === 0 ? readProof(text, about) : undefined
  if (!proof) throw invalidProof()
  if (nonce) checkNonce(ctx, res, proof.nonce, nowSec)
  const name = hashOf(`${proof.jkt}:${proof.jti}`)
  if ((await recordProofs(ctx.records).note(name, proof.iat + maxAgeSec, nowSec, proof.jkt)) !== 'new')
    throw invalidProof()
  return proof.jkt
}

/** Remembers proofs in the server's store, for all its processes. */
export function recordProofs(records: Records): SeenProofs {
  return {
    async note(name, untilSec, nowSec) {
      const ttlMs = Math.ceil((untilSec - nowSec) / KEPT_STEP_SEC) * KEPT_STEP_SEC * 1_000 + CLOCKS_APART_MS
      return (await records.count('proof', name, 1, ttlMs)).total === 1 ? 'new' : 'replay'
    },
  }
}

/** Proofs are remembered for a multiple of this: the memory store expires entries of a few lifetimes without a search. */
const KEPT_STEP_SEC = 30
/** How far the clocks of processes may differ. Proofs are remembered that much longer. */
const CLOCKS_APART_MS = 30_000

/** A nonce is sealed time: nothing is stored, and all processes with the signing keys accept it. */
function checkNonce(ctx: ServerContext, res: Response, given: unknown, nowSec: number): void {
  const step = Math.floor(nowSec / ctx.dpop.maxAgeSec)
  const current = ctx.seal.seal('dpop-nonce', step)
  const made = typeof given === 'string' ? ctx.seal.open('dpop-nonce', given) : undefined
  if (made === step) return
  res.setHeader('DPoP-Nonce', current)
  if (made === step - 1 || made === step + 1) return // a little old, or of a process whose clock is ahead
  throw new OAuthError('use_dpop_nonce', 'The DPoP proof must have the nonce of the DPoP-Nonce field.', 400)
}

function invalidProof(): OAuthError {
  return new OAuthError('invalid_dpop_proof', 'The DPoP proof is invalid, expired or was used before (RFC 9449).')
}

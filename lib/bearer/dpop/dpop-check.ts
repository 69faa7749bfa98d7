import { optionNames, optionRange, shown } from '../../http/options'
import { isJsonObject } from '../json'
import type { Refusal } from '../refusal'
import type { Claims } from '../session'
import { isSecureUrl } from '../url'
import { readProof } from './proof'
import { SeenProofs } from './seen-proofs'

/** How tokens bound to a key are taken (RFC 9449). */
export interface DpopOptions {
  /** Takes no other tokens. Default false: plain bearer tokens too, unless they are bound. */
  readonly required?: boolean | undefined
  /** How long ago a proof may have been made: whole seconds, 1 to 300. Default 60. */
  readonly maxAgeSec?: number | undefined
  /** How many proofs are remembered against replay: 1 to 10,000,000. Default 100,000. When full, 503. */
  readonly maxProofs?: number | undefined
  /** The origin clients know the API by: `https://api.example.org`. Default: the request's protocol and host. */
  readonly origin?: string | undefined
}

/** What of a request a proof is about. */
export interface ProvenRequest {
  readonly method: string
  /** The path as it was asked for, with its query. */
  readonly target: string
  /** Protocol and host as Express has them. */
  readonly origin: string
}

/** The check that a token is brought by whoever holds its key. */
export interface DpopCheck {
  readonly required: boolean
  /** Undefined where the proof holds for this token and request; notes it as seen. */
  refuse(proofs: readonly string[], token: string, claims: Claims, request: ProvenRequest): Refusal | undefined
}

/**
 * Makes the check of its options.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function dpopCheck(options: DpopOptions | boolean | undefined, nowSec: () => number): DpopCheck | undefined {
  if (options === undefined || options === false) return undefined
  const given = options === true ? {} : options
  optionNames('dpop', given, ['required', 'maxAgeSec', 'maxProofs', 'origin'])
  const { required = false, maxAgeSec = 60, maxProofs = 100_000, origin } = given
  if (typeof required !== 'boolean') throw new TypeError(`dpop.required must be a boolean; received ${shown(required)}`)
  optionRange('dpop.maxAgeSec', maxAgeSec, 1, 300)
  optionRange('dpop.maxProofs', maxProofs, 1, 10_000_000)
  if (origin !== undefined && !(isSecureUrl(origin, true) && new URL(origin).origin === origin)) {
    throw new TypeError(`dpop.origin must be an origin such as https://api.example.org; received ${shown(origin)}`)
  }
  const seen = new SeenProofs(maxProofs)
  return { required, refuse }

  function refuse(proofs: readonly string[], token: string, claims: Claims, request: ProvenRequest) {
    const [text] = proofs
    if (text === undefined || proofs.length > 1) return refusal('dpop_proof') // RFC 9449 §4.3
    const now = nowSec()
    const uri = (origin ?? request.origin) + request.target
    const proof = readProof(text, { method: request.method, uri, token, nowSec: now, maxAgeSec })
    if (!proof) return refusal('dpop_proof')
    const { cnf } = claims
    if (!isJsonObject(cnf) || cnf.jkt !== proof.jkt || Object.keys(cnf).length > 1) return refusal('dpop_binding')
    const noted = seen.note(proof, proof.iat + maxAgeSec, now)
    if (noted === 'full') return { refused: 'dpop_unavailable', retryAfterSec: maxAgeSec } as const
    return noted === 'replay' ? refusal('dpop_replay') : undefined
  }
}

function refusal(refused: 'dpop_proof' | 'dpop_binding' | 'dpop_replay'): Refusal {
  return { refused, scheme: 'DPoP' }
}

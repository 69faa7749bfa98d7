import { hash } from 'node:crypto'
import { isThenable } from '../../http/callback'
import { keyError, optionError, usageError } from '../../http/help'
import { checkedLater, flag, option, readOptions, wholeNumber } from '../../http/option-table'
import { shown } from '../../http/options'
import { bindingsOf } from '../claims/claims'
import { type RequestView, fieldValues } from '../credentials/credentials'
import { isJsonObject } from '../../http/json'
import { type Refusal, refuse } from '../refusal/refusal'
import type { Claims } from '../session/session'
import { isSecureUrl } from '../../http/fetch/secure-url'
import { warnOnce } from '../../http/warn-once'
import { Nonces } from './nonces'
import { type Proof, readProof } from './proof'
import type { RedisProofs } from './redis-proofs'
import { LocalProofs, type ProofUse, type SeenProofs } from './seen-proofs'
import { isUrl, knownUrl } from '../../http/url'

/** Options for tokens bound to a key (RFC 9449). */
export interface DpopOptions {
  /** Refuses plain bearer tokens. Default false. */
  readonly required?: boolean | undefined
  /** Largest age of a proof: whole seconds, 1 to 300. Default 60. */
  readonly maxProofAgeSec?: number | undefined
  /** Used proofs of all processes: `redisProofs(redis)`. Default: each process remembers its own. */
  readonly proofs?: RedisProofs | undefined
  /**
   * Proofs that a process remembers: 1 to 10,000,000. Default 100,000. One user, or one app without a user, has at most a
   * hundredth of them, and gets 503 beyond. Not with `proofs`.
   */
  readonly maxProofs?: number | undefined
  /**
   * Secret for nonces, which every proof must then have (§9): 32 bytes or more, the same in all processes. A text is
   * UTF-8. A nonce is issued for `maxProofAgeSec` and accepted for another `maxProofAgeSec`. It says when a proof was made, so
   * the client's clock may be wrong. Default: no nonces.
   */
  readonly nonceSecret?: string | Uint8Array | undefined
  /**
   * Public origin of the API: `https://api.example.org`. If a proxy strips a prefix from the path, add the prefix:
   * `https://api.example.org/svc1`. With a list, the request's own protocol and host, which depend on Express's
   * `trust proxy`, must be one of these. Default: the request's own, with a warning at startup, because a client chooses
   * its `Host` field.
   */
  readonly origin?: string | readonly string[] | undefined
}

/** {@link DpopOptions}, also with a memory of the authorization server's. */
type DpopSettings = Omit<DpopOptions, 'proofs'> & { readonly proofs?: RedisProofs | SeenProofs | undefined }

/** A valid proof, made with the key that the token is bound to. */
interface ProvenKey {
  readonly proof: Proof
  /** End of its validity, in seconds since 1970. */
  readonly untilSec: number
  /** The next nonce for the client, if it changed. */
  readonly nonce: string | undefined
}

/** Check that the client holds the key of its token. */
export interface DpopCheck {
  readonly required: boolean
  /** Checks the proof of a request with this token. */
  check(token: string, claims: Claims, request: RequestView): ProvenKey | Refusal
  /**
   * Records a proof as used, when nothing else refuses its request. Returns the refusal of one that was used before.
   *
   * @param owner of the record: the user, the app, or the block of addresses of an app without a user
   */
  use(proof: ProvenKey, owner: string): Refusal | undefined | Promise<Refusal | undefined>
}

const AHEAD_SEC = 5
const MOST_PROOFS = 100_000
const TABLE = {
  required: flag(),
  maxProofAgeSec: wholeNumber(1, 300, 60),
  proofs: option<SeenProofs>('what redisProofs() returns', isMemory),
  maxProofs: wholeNumber(1, 10_000_000),
  nonceSecret: checkedLater<string | Uint8Array>(),
  origin: checkedLater<string | readonly string[]>(),
}

/**
 * Makes the check from its options.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function dpopCheck(
  options: DpopSettings | boolean | undefined,
  nowSec: () => number,
  warnings = true,
): DpopCheck | undefined {
  if (options === undefined || options === false) return undefined
  const values = readOptions('dpop', options === true ? {} : options, TABLE)
  const { required, maxProofAgeSec, proofs, maxProofs, nonceSecret, origin } = values
  if (proofs !== undefined && maxProofs !== undefined) {
    throw optionError('dpop.proofs and dpop.maxProofs contradict each other: maxProofs is for what a process remembers')
  }
  const originOf = origins(origin, warnings)
  const nonces = nonceSecret === undefined ? undefined : new Nonces(secretOf(nonceSecret), maxProofAgeSec)
  // Our nonce says when a proof was made, whatever the client's clock says (RFC 9449 §4.3, check 11).
  const ages = nonces ? { maxProofAgeSec: Infinity, aheadSec: Infinity } : { maxProofAgeSec, aheadSec: AHEAD_SEC }
  const seen = proofs ?? new LocalProofs(maxProofs ?? MOST_PROOFS)
  return { required, check, use }

  function check(token: string, claims: Claims, request: RequestView): ProvenKey | Refusal {
    const [text, ...more] = fieldValues(request, 'dpop')
    if (text === undefined || more.length > 0) return refuse('dpop_proof') // RFC 9449 §4.3
    const now = nowSec()
    const from = originOf(request)
    if (from === undefined) return refuse('dpop_proof')
    const uri = from + request.target
    const proof = readProof(text, { method: request.method, uri, token, nowSec: now, ...ages })
    if (!proof) return refuse('dpop_proof')
    const nonce = nonces?.judge(proof.nonce, now)
    if (nonce === 'other') return { ...refuse('dpop_nonce'), nonce: nonces?.current(now) }
    const { cnf } = claims
    if (!isJsonObject(cnf) || cnf.jkt !== proof.jkt || bindingsOf(claims).length > 1) return refuse('dpop_binding')
    return {
      proof,
      untilSec: nonces ? now + 2 * maxProofAgeSec : proof.iat + maxProofAgeSec,
      nonce: nonce === 'previous' ? nonces?.current(now) : undefined,
    }
  }

  function use({ proof: { jkt, jti }, untilSec }: ProvenKey, owner: string) {
    try {
      const noted = seen.note(hash('sha256', `${jkt}:${jti}`, 'base64url'), untilSec, nowSec(), owner)
      return isThenable(noted) ? Promise.resolve(noted).then(judged, untold) : judged(noted)
    } catch (cause) {
      return untold(cause)
    }
  }

  function judged(noted: ProofUse): Refusal | undefined {
    if (noted === 'new') return undefined
    if (noted === 'replay') return refuse('dpop_replay')
    if (noted === 'full') return { refused: 'dpop_unavailable', retryAfterSec: maxProofAgeSec }
    return untold(usageError(`dpop.proofs must answer 'new', 'replay' or 'full'; it answered ${shown(noted)}`))
  }
}

function isMemory(value: unknown): boolean {
  return typeof (value as Partial<SeenProofs> | null)?.note === 'function'
}

/** Origin of a request; undefined if it is not among the configured ones. */
function origins(given: unknown, warnings: boolean): (request: RequestView) => string | undefined {
  if (given === undefined) {
    if (warnings)
      warnOnce(
        'TOLLGATE_DPOP_ORIGIN',
        "requireBearer({ dpop }) has no origin, so a proof is compared with the request's own Host field, which the " +
          "client chooses; set dpop: { origin: 'https://api.example.org' }, or trust proxy and a list of origins",
      )
    return (request) => request.origin
  }
  const list: unknown[] = Array.isArray(given) ? [...(given as unknown[])] : [given]
  if (list.length === 0 || !list.every(isBase)) {
    throw optionError(
      'dpop.origin must be an origin such as https://api.example.org, with a path if a proxy strips one, and without a ' +
        `slash at the end, or a list of such; received ${shown(given)}`,
    )
  }
  return typeof given === 'string'
    ? () => given
    : ({ origin }) => list.find((base) => isUrl(origin) && knownUrl(base).origin === knownUrl(origin).origin)
}

/** Whether a value is an origin, with or without a path. */
function isBase(value: unknown): value is string {
  if (!isSecureUrl(value, true)) return false
  const { origin, pathname } = knownUrl(value)
  return value === origin || (value === origin + pathname && !pathname.endsWith('/'))
}

function untold(cause: unknown): Refusal {
  return { refused: 'dpop_unavailable', retryAfterSec: 1, cause }
}

/** Validates the secret. Errors do not show it. */
function secretOf(given: unknown): Uint8Array {
  const secret = typeof given === 'string' ? Buffer.from(given) : given
  if (!(secret instanceof Uint8Array)) throw keyError('dpop.nonceSecret must be a text or bytes')
  if (secret.length >= 32) return secret
  throw keyError(`dpop.nonceSecret must have 32 bytes or more; received ${secret.length}`, RangeError)
}

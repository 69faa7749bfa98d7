import { hash } from 'node:crypto'
import { ASYMMETRIC } from '../keys/algorithm'
import { type Jws, readJws } from '../credentials/jws'
import { isRefusal } from '../refusal/refusal'
import { isId } from '../session/session'
import { isSignedWith } from '../keys/signature'
import { KeyProblem, type VerifyKey, keyFromJwk } from '../keys/verify-key'
import { hasDotSegments } from '../../http/request/dot-segments'
import { thumbprint } from './thumbprint'
import { urlOf } from '../../http/url'

/** Request that a proof must match. */
export interface ProofFor {
  readonly method: string
  /** URI that the client used; its query is ignored. */
  readonly uri: string
  /** Access token of the request; undefined at a token endpoint (RFC 9449 §5). */
  readonly token: string | undefined
  readonly nowSec: number
  /** Largest age of the proof, in seconds. */
  readonly maxProofAgeSec: number
  /** How far the client's clock may be ahead, in seconds: proofs from the future are remembered for longer. */
  readonly aheadSec: number
}

/** A valid proof. */
export interface Proof {
  /** Thumbprint of its key (RFC 7638), to which the token must be bound. */
  readonly jkt: string
  readonly jti: string
  /** Seconds since 1970. */
  readonly iat: number
  /** Its nonce, unchecked. */
  readonly nonce: unknown
}

/**
 * Checks a DPoP proof (RFC 9449 §4.3) except for its nonce and for replay. The proof is a recent JWT of type `dpop+jwt`
 * for this method, URI and token, signed with the key in its header.
 *
 * @returns undefined if the proof is invalid
 */
export function readProof(text: string, about: ProofFor): Proof | undefined {
  const jws = readJws(text)
  if (isRefusal(jws) || jws.type !== 'dpop+jwt') return undefined
  const key = keyOf(jws)
  if (!key || !isSignedWith(text, jws.algorithm, key)) return undefined
  const { jti, htm, htu, iat, ath, nonce } = jws.claims
  if (!isId(jti) || htm !== about.method || !isSameUri(htu, about.uri)) return undefined
  if (typeof iat !== 'number' || iat < about.nowSec - about.maxProofAgeSec || iat > about.nowSec + about.aheadSec)
    return undefined
  if (about.token !== undefined && ath !== hash('sha256', about.token, 'base64url')) return undefined
  return { jkt: thumbprint(key.key), jti, iat, nonce }
}

function keyOf({ algorithm: alg, header }: Jws): VerifyKey | undefined {
  const algorithm = ASYMMETRIC.find((one) => one === alg)
  if (!algorithm) return undefined
  try {
    return keyFromJwk(header.jwk, [algorithm])
  } catch (problem) {
    if (problem instanceof KeyProblem) return undefined
    throw problem
  }
}

/** Compares URIs after normalisation, without query and fragment (RFC 9449 §4.3). */
function isSameUri(htu: unknown, uri: string): boolean {
  if (typeof htu !== 'string') return false
  const [theirText, ourText] = [withoutQuery(htu), withoutQuery(uri)]
  const [theirs, ours] = [urlOf(theirText), urlOf(ourText)]
  // URL resolves dot segments, and Express does not: /a/../x is not /x.
  if (!theirs || !ours || hasDotSegments(theirText) || hasDotSegments(ourText)) return false
  return (
    theirs.origin === ours.origin &&
    theirs.origin !== 'null' &&
    normalized(theirs.pathname) === normalized(ours.pathname)
  )
}

function withoutQuery(uri: string): string {
  return uri.split(/[?#]/, 1)[0] as string
}

/** Normalises percent-encoding: capital letters, and unreserved characters unencoded (RFC 3986 §6.2.2). */
function normalized(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const char = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(char) ? char : encoded.toUpperCase()
  })
}

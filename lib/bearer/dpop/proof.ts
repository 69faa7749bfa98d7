import { hash } from 'node:crypto'
import { ASYMMETRIC } from '../keys/algorithm'
import { readJsonObject } from '../../http/json'
import { readJws } from '../credentials/jws'
import { isRefusal } from '../refusal/refusal'
import { isId } from '../session/session'
import { isSignedWith } from '../keys/signature'
import { KeyProblem, type VerifyKey, keyFromJwk } from '../keys/verify-key'
import { hasDotSegments } from '../../http/dot-segments'
import { thumbprint } from './thumbprint'

/** What a proof must be about. */
export interface ProofFor {
  readonly method: string
  /** The request's URI as the client sees it; its query does not count. */
  readonly uri: string
  /** The access token that comes with it; undefined at a token endpoint, where there is none yet (RFC 9449 §5). */
  readonly token: string | undefined
  readonly nowSec: number
  /** How long ago the proof may have been made, and how far the client's clock may be off, in seconds. */
  readonly maxAgeSec: number
}

/** A proof that holds. */
export interface Proof {
  /** The thumbprint of its key (RFC 7638), which the token must be bound to. */
  readonly jkt: string
  readonly jti: string
  /** Seconds since 1970. */
  readonly iat: number
  /** What it says it was given for a nonce; not yet looked at. */
  readonly nonce: unknown
}

/**
 * Checks a DPoP proof (RFC 9449 §4.3) but for its nonce and its having been seen before: a JWT of its own type, signed with the key
 * in its header, for this method, this URI and this token, made just now.
 *
 * @returns undefined where it does not hold
 */
export function readProof(text: string, about: ProofFor): Proof | undefined {
  const jws = readJws(text)
  if (isRefusal(jws) || jws.type !== 'dpop+jwt') return undefined
  const key = keyOf(text, jws.algorithm)
  if (!key || !isSignedWith(text, jws.algorithm, key)) return undefined
  const { jti, htm, htu, iat, ath, nonce } = jws.claims
  if (!isId(jti) || htm !== about.method || !isSameUri(htu, about.uri)) return undefined
  if (typeof iat !== 'number' || Math.abs(about.nowSec - iat) > about.maxAgeSec) return undefined
  if (about.token !== undefined && ath !== hash('sha256', about.token, 'base64url')) return undefined
  return { jkt: thumbprint(key.key), jti, iat, nonce }
}

function keyOf(text: string, alg: string): VerifyKey | undefined {
  const algorithm = ASYMMETRIC.find((one) => one === alg)
  const header = readJsonObject(Buffer.from(text.slice(0, text.indexOf('.')), 'base64url'))
  if (!algorithm || !header) return undefined
  try {
    return keyFromJwk(header.jwk, [algorithm])
  } catch (problem) {
    if (problem instanceof KeyProblem) return undefined
    throw problem
  }
}

/** RFC 9449 §4.3: compared after normalisation, without query and fragment. */
function isSameUri(htu: unknown, uri: string): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu) || !URL.canParse(uri)) return false
  // URL resolves dot segments, and Express does not: /a/../x is not /x.
  if (hasDotSegments(uri.split(/[?#]/, 1)[0] as string) || hasDotSegments(htu.split(/[?#]/, 1)[0] as string))
    return false
  const [theirs, ours] = [new URL(htu), new URL(uri)]
  return (
    theirs.origin === ours.origin &&
    theirs.origin !== 'null' &&
    normalized(theirs.pathname) === normalized(ours.pathname)
  )
}

/** RFC 3986 §6.2.2: percent-encoding in capitals, and none where it is not needed. */
function normalized(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const char = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(char) ? char : encoded.toUpperCase()
  })
}

import { type KeyObject, generateKeyPairSync, randomUUID } from 'node:crypto'
import { sign } from 'jsonwebtoken'
import type { Jwk } from '../bearer/verify-key'
import { KIND_CLAIM } from '../bearer/session'

/** What a token of {@link devIssuer} says. */
export interface DevTokenOptions {
  /** Whose session it is. Default `'user'`. */
  readonly kind?: 'user' | 'client' | 'unauthenticated'
  /** The app. Default `'dev-app'` for a user; else whom the token is made for. */
  readonly clientId?: string
  /** The scopes granted: `'read write'`. Default none. */
  readonly scope?: string | readonly string[]
  /** More claims, or others in place of the usual ones; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** Whole seconds until the token expires; below 0 it already has. Default 3,600. */
  readonly expiresInSec?: number
}

/** Options of {@link devIssuer}. */
export interface DevIssuerOptions {
  /** Its name. Default `https://dev-issuer.test`. */
  readonly issuer?: string
  /** Whom its tokens are for. Default `https://api.test`. */
  readonly audience?: string
  /** The date its tokens are issued at, in milliseconds since 1970: `() => clock.date()` of a `manualClock()`. */
  readonly date?: () => number
}

/** An issuer for tests and for trying things out. */
export interface DevIssuer {
  readonly issuer: string
  readonly audience: string
  /** For `requireBearer()`: its name, audience and public key. Nothing is fetched. */
  readonly options: { readonly issuer: string; readonly audience: string; readonly key: Jwk }
  /**
   * A token, ready for `Authorization: Bearer`.
   *
   * @param who the user's id; for the other kinds of session the app, unless `clientId` names it
   */
  token(who: string, options?: DevTokenOptions): string
}

let pair: { readonly privateKey: KeyObject; readonly jwk: Jwk } | undefined

/**
 * An issuer inside this process, for tests and examples. Its key is made once per process and known to nobody else.
 *
 * @example
 * const dev = devIssuer()
 * app.use(requireBearer(dev.options))
 * await fetch(url, { headers: { authorization: `Bearer ${dev.token('ada', { scope: 'read' })}` } })
 */
export function devIssuer(options: DevIssuerOptions = {}): DevIssuer {
  const { issuer = 'https://dev-issuer.test', audience = 'https://api.test', date = Date.now } = options
  const { privateKey, jwk } = (pair ??= makePair())

  return {
    issuer,
    audience,
    options: { issuer, audience, key: jwk },
    token(who, { kind = 'user', clientId, scope, claims, expiresInSec = 3_600 } = {}) {
      const iat = Math.floor(date() / 1_000)
      const client = clientId ?? (kind === 'user' ? 'dev-app' : who)
      const payload: Record<string, unknown> = {
        iss: issuer,
        aud: audience,
        sub: kind === 'user' ? who : client,
        client_id: client,
        iat,
        exp: iat + expiresInSec,
        jti: randomUUID(),
        ...(kind === 'unauthenticated' && { [KIND_CLAIM]: kind }),
        ...(scope !== undefined && { scope: typeof scope === 'string' ? scope : scope.join(' ') }),
        ...claims,
      }
      // As text: jsonwebtoken would judge the claims, and a test may want them wrong.
      const header = { alg: 'ES256', typ: 'at+jwt', kid: jwk.kid as string }
      return sign(JSON.stringify(payload), privateKey, { algorithm: 'ES256', header })
    },
  }
}

function makePair(): { readonly privateKey: KeyObject; readonly jwk: Jwk } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'dev-1', alg: 'ES256', use: 'sig' } as unknown as Jwk
  return { privateKey, jwk }
}

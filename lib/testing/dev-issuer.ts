import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KIND_CLAIM } from '../bearer/session/session'
import type { Jwk } from '../bearer/keys/key-options'
import { type Attack, attackToken } from './attack-tokens'
import { type DevAlgorithm, makeKey, signToken } from './dev-keys'

/** What a token of {@link devIssuer} says. */
export interface DevTokenOptions {
  /** Whose session it is. Default `'user'`. */
  readonly kind?: 'user' | 'client' | 'unauthenticated' | undefined
  /** The app. Default `'dev-app'` for a user; else whom the token is made for. */
  readonly clientId?: string | undefined
  /** The scopes granted: `'read write'`. Default none. */
  readonly scope?: string | readonly string[] | undefined
  /** More claims, or others in place of the usual ones; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  /** Whole seconds until the token expires; below 0 it already has. Default 3,600. */
  readonly expiresInSec?: number | undefined
}

/** Options of {@link devIssuer}. */
export interface DevIssuerOptions {
  /** Its name. Default `https://dev-issuer.test`. */
  readonly issuer?: string | undefined
  /** Whom its tokens are for. Default `https://api.test`. */
  readonly audience?: string | undefined
  /** What its tokens are signed with. Default `ES256`. */
  readonly algorithm?: DevAlgorithm | undefined
  /** The date its tokens are issued at, in milliseconds since 1970: `() => clock.date()` of a `manualClock()`. */
  readonly date?: (() => number) | undefined
}

/** An issuer for tests and for trying things out. */
export interface DevIssuer {
  readonly issuer: string
  readonly audience: string
  /** For `requireBearer()`: its name, audience and public key. Nothing is fetched. */
  readonly options: { readonly issuer: string; readonly audience: string; readonly key: Jwk }
  /** Its public keys as a JWK Set: the one in use, and those before it. */
  readonly jwks: { readonly keys: readonly Jwk[] }
  /** While true, `serve()` answers 503. */
  down: boolean
  /**
   * A token, ready for `Authorization: Bearer`.
   *
   * @param who the user's id; for the other kinds of session the app, unless `clientId` names it
   */
  token(who: string, options?: DevTokenOptions): string
  /** A token that must be refused, and why in its name. */
  attack(attack: Attack, who?: string): string
  /** Signs with a new key from now on. The set shows the old ones too, unless they are `withdrawn`. */
  rotate(options?: { readonly withdrawn?: boolean | undefined }): void
  /** Serves the JWK Set on this machine, for tests of rotation and outages: `requireBearer(served.options)`. */
  serve(): Promise<{
    readonly options: { readonly issuer: string; readonly audience: string; readonly jwksUri: string }
    /** Stops serving. */
    close(): Promise<void>
    /** As `close()`: `await using served = await dev.serve()`. */
    [Symbol.asyncDispose](): Promise<void>
  }>
}

/**
 * An issuer inside this process, for tests and examples.
 *
 * @example
 * const dev = devIssuer()
 * app.use(requireBearer(dev.options))
 * await fetch(url, { headers: { authorization: `Bearer ${dev.token('ada', { scope: 'read' })}` } })
 */
export function devIssuer(options: DevIssuerOptions = {}): DevIssuer {
  const { issuer = 'https://dev-issuer.test', audience = 'https://api.test', date = () => Date.now() } = options
  const { algorithm = 'ES256' } = options
  let key = makeKey(algorithm)
  let shown: readonly Jwk[] = [key.jwk]

  const dev: DevIssuer = {
    issuer,
    audience,
    down: false,
    get options() {
      return { issuer, audience, key: key.jwk }
    },
    get jwks() {
      return { keys: shown }
    },
    token: (who, of) => signToken(key, claimsOf(who, of)),
    attack: (attack, who = 'ada') => attackToken(attack, key, claimsOf(who)),
    rotate({ withdrawn = false } = {}) {
      key = makeKey(algorithm)
      shown = withdrawn ? [key.jwk] : [key.jwk, ...shown]
    },
    serve,
  }
  return dev

  function claimsOf(who: string, of: DevTokenOptions = {}): Record<string, unknown> {
    const { kind = 'user', clientId, scope, claims, expiresInSec = 3_600 } = of
    const iat = Math.floor(date() / 1_000)
    const client = clientId ?? (kind === 'user' ? 'dev-app' : who)
    return {
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
  }

  async function serve(): ReturnType<DevIssuer['serve']> {
    const server = createServer((_req, res) => {
      res.writeHead(dev.down ? 503 : 200, { 'content-type': 'application/json' })
      res.end(dev.down ? '' : JSON.stringify(dev.jwks))
    }).unref()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const close = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    const options = { issuer, audience, jwksUri: `http://127.0.0.1:${port}/keys` }
    return { options, close, [Symbol.asyncDispose]: close }
  }
}

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KIND_CLAIM } from '../bearer/session/session'
import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Jwk } from '../bearer/keys/key-options'
import { optionNames } from '../http/options'
import { optionError } from '../http/help'
import { type Attack, attackToken } from './attack-tokens'
import { type DevAlgorithm, makeKey, signToken } from './dev-keys'
import { tokensLike } from './preset-tokens'

/** What a token of {@link devIssuer} says. */
export interface DevTokenOptions {
  /** Whose session it is. Default `'user'`. With `like` a user's or, for a machine, a client's. */
  readonly kind?: 'user' | 'client' | 'unauthenticated' | undefined
  /** The app. Default for a user: the first of the preset's `clients`, or `'dev-app'`; else whom the token is made for. */
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
  /**
   * A preset whose tokens these look like: `keycloak({ realm, audience })`. They have its issuer and audience, and the
   * claims by which it tells users from machines. For `auth0`, `cognito`, `entra`, `hydra`, `keycloak`, `logto` and `okta`.
   */
  readonly like?: IssuerOptions | undefined
  /** Its name. Default `https://dev-issuer.test`, or that of the preset. */
  readonly issuer?: string | undefined
  /** Whom its tokens are for. Default `https://api.test`, or that of the preset. */
  readonly audience?: string | undefined
  /** What its tokens are signed with. Default `ES256`; with `like`, `RS256`. */
  readonly algorithm?: DevAlgorithm | undefined
  /** The date its tokens are issued at, in milliseconds since 1970: `() => clock.date()` of a `manualClock()`. */
  readonly date?: (() => number) | undefined
}

/** An issuer for tests and for trying things out. */
export interface DevIssuer<Options extends object = { readonly issuer: string; readonly audience: string }> {
  readonly issuer: string
  /** The first that its tokens name; empty where those of a preset have none. */
  readonly audience: string
  /** For `requireBearer()`: its name, audience and public key, or the preset with that key. Nothing is fetched. */
  readonly options: Options & { readonly key: Jwk }
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
    readonly options: Options & { readonly jwksUri: string }
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
export function devIssuer(options: DevIssuerOptions & { readonly like: IssuerOptions }): DevIssuer<IssuerOptions>
export function devIssuer(options?: DevIssuerOptions & { readonly like?: undefined }): DevIssuer
export function devIssuer(options: DevIssuerOptions = {}): DevIssuer | DevIssuer<IssuerOptions> {
  optionNames('devIssuer()', options, ['like', 'issuer', 'audience', 'algorithm', 'date'])
  const { like, date = () => Date.now() } = options
  const preset = like && tokensLike(like, options.issuer)
  const { issuer = preset?.issuer ?? 'https://dev-issuer.test', algorithm = preset ? 'RS256' : 'ES256' } = options
  const aud = options.audience ?? (preset ? preset.audience : 'https://api.test')
  const [audience = ''] = [aud ?? []].flat()
  const typ = preset ? preset.typ : 'at+jwt'
  const common = like ? { ...like, jwksUri: undefined } : { issuer, audience }
  let key = makeKey(algorithm, typ)
  let shown: readonly Jwk[] = [key.jwk]

  const dev: DevIssuer<IssuerOptions> = {
    issuer,
    audience,
    down: false,
    get options() {
      return { ...common, key: key.jwk }
    },
    get jwks() {
      return { keys: shown }
    },
    token: (who, of) => signToken(key, claimsOf(who, of)),
    attack: (attack, who = 'ada') => attackToken(attack, key, claimsOf(who)),
    rotate({ withdrawn = false } = {}) {
      key = makeKey(algorithm, typ)
      shown = withdrawn ? [key.jwk] : [key.jwk, ...shown]
    },
    serve,
  }
  return dev

  function claimsOf(who: string, of: DevTokenOptions = {}): Record<string, unknown> {
    const { kind = 'user', clientId, scope, claims, expiresInSec = 3_600 } = of
    const iat = Math.floor(date() / 1_000)
    const app = clientId ?? (kind === 'user' ? (preset?.app ?? 'dev-app') : who)
    const granted = typeof scope === 'object' ? scope.join(' ') : scope
    const common = { iss: issuer, aud, iat, exp: iat + expiresInSec, jti: randomUUID() }
    if (preset) {
      if (kind === 'unauthenticated') {
        throw optionError("kind is 'user' or 'client' with devIssuer({ like }); received 'unauthenticated'")
      }
      const holder = { isMachine: kind === 'client', who, app, scope: granted, issuer }
      return { ...common, ...preset.claimsOf(holder), ...claims }
    }
    return {
      ...common,
      sub: kind === 'user' ? who : app,
      client_id: app,
      ...(kind === 'unauthenticated' && { [KIND_CLAIM]: kind }),
      ...(granted !== undefined && { scope: granted }),
      ...claims,
    }
  }

  async function serve(): ReturnType<DevIssuer<IssuerOptions>['serve']> {
    const server = createServer((_req, res) => {
      res.writeHead(dev.down ? 503 : 200, { 'content-type': 'application/json' })
      res.end(dev.down ? '' : JSON.stringify(dev.jwks))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const close = () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    const options = { ...common, jwksUri: `http://127.0.0.1:${port}/keys` }
    return { options, close, [Symbol.asyncDispose]: close }
  }
}

import type { Request, RequestHandler, Router as ExpressRouter } from 'express'
import { Router } from '../http/express'
import { type AccessTokenClaims, AccessTokens } from './tokens/access-tokens'
import type { Context } from './context'
import { Cookies } from './cookie'
import { authorizationEndpoint } from './endpoints/authorization'
import { oauthMetadataEndpoint, openidConfigurationEndpoint } from './endpoints/discovery'
import { type Endpoint, endpointHandler } from './endpoints/endpoint'
import { introspectEndpoint } from './endpoints/introspect'
import { jwksEndpoint } from './endpoints/jwks'
import { loginEndpoint } from './endpoints/login'
import { logoutEndpoint } from './endpoints/logout'
import { platformLogoutEndpoint } from './endpoints/platform-logout'
import { revokeEndpoint } from './endpoints/revoke'
import { termsEndpoint } from './endpoints/terms'
import { tokenEndpoint } from './endpoints/token'
import { userinfoEndpoint } from './endpoints/userinfo'
import { IdTokens } from './tokens/id-tokens'
import { Keyring, type SigningKey } from './tokens/keyring'
import { pageSettings } from './pages/page-options'
import { PageRenderer } from './pages/page-renderer'
import { AcceptedTerms } from './records/accepted-terms'
import { Codes } from './records/codes'
import { LoginAttempts } from './records/login-attempts'
import { Records } from './records/records'
import { RefreshTokens } from './records/refresh-tokens'
import { type Revocable, Revocations } from './records/revocations'
import { type WebsiteSession, WebsiteSessions } from './records/website-sessions'
import { Seal } from './seal'
import { type AuthorizationServerOptions, type ServerSettings, serverSettings } from './server-settings'

/** The endpoints below the issuer: the router looks at one after another, so the one asked most comes first. */
const ENDPOINTS: readonly Endpoint[] = [
  tokenEndpoint,
  authorizationEndpoint,
  loginEndpoint,
  termsEndpoint,
  userinfoEndpoint,
  revokeEndpoint,
  introspectEndpoint,
  logoutEndpoint,
  openidConfigurationEndpoint,
  oauthMetadataEndpoint,
  jwksEndpoint,
]

/** Clocks differ: what refuses a token outlives it by so much. */
const SKEW_SEC = 300

/** The server as a router, and what the app around it can use. */
export interface AuthorizationServer extends ExpressRouter {
  /** Discovery at the well-known root forms (RFC 8414 §3.1): `app.use(server.wellKnown)`. */
  readonly wellKnown: RequestHandler
  /** Revokes the bearer token's authorization, 204: `app.post('/platform/logout', server.platformLogout)`. */
  readonly platformLogout: RequestHandler
  /** What a token of this server says, of either format, or undefined: for `requireBearer({ verify })`. */
  readonly verify: (token: string) => Promise<AccessTokenClaims | undefined>
  /** Whether a token with these claims has been revoked before its time. */
  readonly isRevoked: (claims: Revocable) => Promise<boolean>
  /** The website session of a request, for pages of the same host: who has signed in here is signed in there. */
  readonly websiteSession: (req: Request) => Promise<WebsiteSession | undefined>
  /** Replaces the signing keys. Leave the retired ones in for as long as their tokens live. @throws {TypeError} */
  readonly setSigningKeys: (keys: readonly SigningKey[]) => void
}

/**
 * The OAuth 2 and OpenID Connect server that issues the tokens which `requireBearer()` checks. It fails closed: where its
 * store or a directory is not reachable, it answers 503 with Retry-After and lets nothing pass.
 *
 * @example
 * const server = authorizationServer({ issuer: 'https://ident.example.org/cis-web/oauth2/v3', clients, users })
 * app.use('/cis-web/oauth2/v3', server)
 * app.use(server.wellKnown)
 * @throws {TypeError | RangeError} naming the option that is wrong
 */
export function authorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const settings = serverSettings(options)
  const ctx = contextOf(settings)
  const router = Router()
  for (const endpoint of ENDPOINTS) router.all(endpoint.path, endpointHandler(ctx, endpoint, settings.onError))

  return Object.assign(router, {
    wellKnown: wellKnown(ctx, settings),
    platformLogout: endpointHandler(ctx, platformLogoutEndpoint, settings.onError),
    verify: (token: string) => ctx.accessTokens.check(token),
    isRevoked: (claims: Revocable) => ctx.revocations.isRevoked(claims),
    websiteSession: (req: Request) => ctx.sessions.of(ctx.cookies.read(req.headers.cookie, 'session')),
    setSigningKeys: (keys: readonly SigningKey[]) => ctx.keyring.replace(keys),
  })
}

function contextOf(settings: ServerSettings): Context {
  const { issuer, clients, users, tokenType, clock, accessTokens, refresh, session } = settings
  const url = new URL(issuer)
  const tokenMs = (accessTokens.lifetimeSec + SKEW_SEC) * 1_000
  const refreshMs = refresh.lifetimeSec * 1_000
  const records = new Records(settings.store)
  const keyring = new Keyring(settings.signingKeys, clock, tokenMs)
  const revocations = new Revocations(records, tokenMs, Math.max(tokenMs, refreshMs + SKEW_SEC * 1_000))
  return {
    issuer,
    clock,
    clients,
    users,
    tokenType,
    keyring,
    records,
    revocations,
    seal: new Seal(() => keyring.published().map(({ privateKey }) => privateKey)),
    cookies: new Cookies(url.protocol === 'https:'),
    pages: new PageRenderer(pageSettings(settings.pages, url.host)),
    codes: new Codes(records, settings.codeLifetimeSec * 1_000, tokenMs),
    accessTokens: new AccessTokens({ issuer, ...accessTokens }, keyring, records, revocations, clock),
    refreshTokens: new RefreshTokens(records, revocations, refreshMs, refresh.graceSec * 1_000),
    idTokens: new IdTokens(issuer, accessTokens.lifetimeSec, keyring, clock),
    sessions: new WebsiteSessions(records, clock, session.lifetimeSec * 1_000, session.idleSec * 1_000),
    attempts: new LoginAttempts(records, settings.limits),
    acceptedTerms: new AcceptedTerms(records),
  }
}

/** Discovery where clients look that know the host alone, and where RFC 8414 §3.1 puts the issuer's path behind. */
function wellKnown(ctx: Context, { onError }: ServerSettings): RequestHandler {
  const router = Router()
  const path = new URL(ctx.issuer).pathname.replace(/\/$/, '')
  for (const endpoint of [openidConfigurationEndpoint, oauthMetadataEndpoint]) {
    const handler = endpointHandler(ctx, endpoint, onError)
    for (const place of new Set([endpoint.path, endpoint.path + path])) router.all(literal(place), handler)
  }
  return router
}

/** A path as Express takes it literally, in 4 and 5. */
function literal(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/?$`)
}

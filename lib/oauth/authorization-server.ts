import type { Request, RequestHandler, Router as ExpressRouter } from 'express'
import { type Dialect, dialectOf } from '../http/dialect'
import { Router } from '../http/express'
import { shown } from '../http/options'
import { type AccessTokenClaims, AccessTokens } from './tokens/access-tokens'
import type { ServerContext } from './server-context'
import { TimestampSecrets } from './client-auth/timestamp-secret'
import { IdentityScopes } from './identity-scopes'
import { type DpopCheck, dpopCheck } from '../bearer/dpop/dpop-check'
import { optionError } from '../http/help'
import { recordProofs } from './client-auth/dpop-proof'
import { Cookies } from './cookie'
import { approvalEndpoint } from './endpoints/approval'
import { authorizationEndpoint } from './endpoints/authorization'
import { oauthMetadataEndpoint, openidConfigurationEndpoint } from './endpoints/discovery'
import { pushedRequestEndpoint } from './endpoints/pushed-request'
import { type ContextOf, type Endpoint, endpointHandler } from './endpoints/endpoint'
import { introspectEndpoint } from './endpoints/introspect'
import { jwksEndpoint } from './endpoints/jwks'
import { loginEndpoint } from './endpoints/login'
import { logoutEndpoint } from './endpoints/logout'
import { platformLogoutEndpoint } from './endpoints/platform-logout'
import { registerEndpoint, registrationEndpoint } from './endpoints/register'
import { RegisteredClients, withRegistered } from './records/registered-clients'
import { revokeEndpoint } from './endpoints/revoke'
import { termsEndpoint } from './endpoints/terms'
import { tokenEndpoint } from './endpoints/token'
import { userinfoEndpoint } from './endpoints/userinfo'
import { IdTokens } from './tokens/id-tokens'
import { warnOnce } from '../http/warn-once'
import { Keyring, type SigningKey } from './keys/keyring'
import { pageSettings } from './pages/page-options'
import { PageRenderer } from './pages/page-renderer'
import { AcceptedTerms } from './records/accepted-terms'
import { Approvals } from './records/approvals'
import { Codes } from './records/codes'
import { LoginAttempts } from './records/login-attempts'
import { Records } from './records/records'
import { RefreshTokens } from './records/refresh-tokens'
import { type Revocable, RevocationRecords } from './records/revocation-records'
import { type WebsiteSession, WebsiteSessions } from './records/website-sessions'
import { Seal } from './seal'
import { type AuthorizationServerOptions, type ServerSettings, serverSettings } from './server-settings'

/** The endpoints below the issuer. Express tries them in order, so the busiest comes first. */
const ENDPOINTS: readonly Endpoint[] = [
  tokenEndpoint,
  authorizationEndpoint,
  pushedRequestEndpoint,
  loginEndpoint,
  termsEndpoint,
  approvalEndpoint,
  userinfoEndpoint,
  revokeEndpoint,
  introspectEndpoint,
  logoutEndpoint,
  openidConfigurationEndpoint,
  oauthMetadataEndpoint,
  jwksEndpoint,
]

/** Clocks differ between machines: a revocation outlives its token by this margin. */
const SKEW_SEC = 300

/** The server's router, with middleware and functions for the rest of the app. */
export interface AuthorizationServer extends ExpressRouter {
  /** Serves the discovery documents at the host's root (RFC 8414 §3.1): `app.use(server.wellKnown)`. */
  readonly wellKnown: RequestHandler
  /** Revokes the bearer token and its whole grant, then answers 204: `app.post('/platform/logout', server.platformLogout)`. */
  readonly platformLogout: RequestHandler
  /** The claims of an active token of either format, else undefined: `requireBearer({ verify: server.verify })`. */
  readonly verify: (token: string) => Promise<AccessTokenClaims | undefined>
  /**
   * Ends every session and grant that a user began before this call, and forgets the user's devices. Call it after a
   * password change. Rejects if the store is unreachable: try again.
   */
  readonly revokeUser: (userId: string) => Promise<void>
  /** Whether the token with these claims, its grant, website session, user or app, has been revoked. */
  readonly isRevoked: (claims: Revocable) => Promise<boolean>
  /** The website session of a request, so that other pages of the same host share the login. Undefined without one. */
  readonly websiteSession: (req: Request) => Promise<WebsiteSession | undefined>
  /** Replaces the signing keys. Keep a retired key in the list until its last token has expired. @throws {TypeError} */
  readonly setSigningKeys: (keys: readonly SigningKey[]) => void
}

/**
 * The OAuth 2 and OpenID Connect server that issues the tokens `requireBearer()` checks. It fails closed: while its store
 * or a directory is unreachable, it answers 503 with Retry-After.
 *
 * @example
 * const server = authorizationServer({ issuer: 'https://ident.example.org/cis-web/oauth2/v3', clients, users })
 * app.use('/cis-web/oauth2/v3', server)
 * app.use(server.wellKnown)
 * @throws {TypeError | RangeError} naming the invalid option
 */
export function authorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const settings = serverSettings(options)
  const ctx = buildContext(settings)
  const contexts = { familysearch: ctx, standard: { ...ctx, ...dialectContext(settings, 'standard') } }
  const contextOf: ContextOf = (req) => contexts[dialectOf(settings.dialect, req)]
  const router = Router()
  const endpoints = ctx.registration ? [...ENDPOINTS, registerEndpoint, registrationEndpoint] : ENDPOINTS
  router.use(mountCheck(settings.issuer))
  for (const endpoint of endpoints) router.all(endpoint.path, endpointHandler(contextOf, endpoint, settings.onError))

  return Object.assign(router, {
    wellKnown: wellKnown(contextOf, settings),
    platformLogout: endpointHandler(contextOf, platformLogoutEndpoint, settings.onError),
    verify: (token: string) => ctx.accessTokens.check(token),
    revokeUser: (userId: string) => revokeUser(ctx, userId),
    isRevoked: (claims: Revocable) => ctx.revocations.isRevoked(claims),
    websiteSession: (req: Request) => websiteSession(ctx, req),
    setSigningKeys: (keys: readonly SigningKey[]) => ctx.keyring.replace(keys),
  })
}

async function revokeUser(ctx: ServerContext, userId: string): Promise<void> {
  if (typeof userId !== 'string' || userId === '') {
    throw optionError(`revokeUser takes the id of a user, a text; received ${shown(userId)}`)
  }
  await ctx.revocations.revokeUser(userId)
}

async function websiteSession(ctx: ServerContext, req: Request): Promise<WebsiteSession | undefined> {
  const session = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
  return session && { sid: session.sid, userId: session.userId, authTimeMs: session.authTimeMs }
}

function buildContext(settings: ServerSettings): ServerContext {
  const { issuer, clients, users, clock, accessTokens, refresh, session } = settings
  const { acr, tokenFrom, requirePushedRequests, dpop, registration } = settings
  const url = new URL(issuer)
  const identity = new IdentityScopes(settings.scopes, settings.idTokenScopes)
  const tokenMs = (accessTokens.lifetimeSec + SKEW_SEC) * 1_000
  const refreshMs = refresh.lifetimeSec * 1_000
  const records = new Records(settings.store, issuer)
  const registered = new RegisteredClients(records, (registration?.lifetimeSec ?? 0) * 1_000)
  const dpopOptions = { maxAgeSec: dpop.maxAgeSec, proofs: recordProofs(records), origin: url.origin }
  const check = dpopCheck(dpopOptions, () => clock.date() / 1_000) as DpopCheck
  const keyring = new Keyring(settings.signingKeys, clock, tokenMs)
  const revocations = new RevocationRecords(
    records,
    tokenMs,
    Math.max(tokenMs, refreshMs + SKEW_SEC * 1_000, session.lifetimeSec * 1_000),
  )
  return {
    issuer,
    clock,
    log: settings.log,
    clients: withRegistered(clients, registration && registered),
    users,
    identity,
    acr,
    tokenFrom,
    registration,
    registered,
    requirePushedRequests,
    audience: accessTokens.audience,
    dpop: { ...dpop, check },
    keyring,
    records,
    revocations,
    seal: new Seal(issuer, () => keyring.all().map(({ privateKey }) => privateKey)),
    cookies: new Cookies(issuer),
    ...dialectContext(settings, 'familysearch'),
    codes: new Codes(records, settings.codeLifetimeSec * 1_000, tokenMs),
    accessTokens: new AccessTokens({ issuer, ...accessTokens }, keyring, records, revocations, clock),
    refreshTokens: new RefreshTokens(records, revocations, refreshMs, refresh.graceSec * 1_000),
    idTokens: new IdTokens(issuer, accessTokens.lifetimeSec, keyring, identity, clock),
    sessions: new WebsiteSessions(records, revocations, clock, session.lifetimeSec * 1_000, session.idleSec * 1_000),
    attempts: new LoginAttempts(records, settings.limits),
    timestampSecrets: new TimestampSecrets(),
    acceptedTerms: new AcceptedTerms(records),
    approvals: new Approvals(records),
  }
}

/** Warns, at the first request, if the server is not mounted at the path of its issuer. */
function mountCheck(issuer: string): RequestHandler {
  const path = new URL(issuer).pathname.replace(/\/$/, '')
  let isChecked = false
  return function mountCheck(req, _res, next) {
    if (!isChecked && req.baseUrl.toLowerCase() !== path.toLowerCase()) {
      warnOnce(
        'TOLLGATE_ISSUER_PATH',
        `authorizationServer() is mounted at '${req.baseUrl || '/'}', and its issuer ${issuer} has the path ` +
          `'${path || '/'}': clients find no endpoint. Mount it with app.use('${path || '/'}', server), unless a proxy ` +
          'rewrites the path',
      )
    }
    isChecked = true
    next()
  }
}

/** The part of the context that differs by dialect. */
function dialectContext({ issuer, pages, tokenType }: ServerSettings, dialect: Dialect) {
  return {
    tokenType: tokenType ?? (dialect === 'standard' ? 'Bearer' : 'family_search'),
    isRealmNeeded: dialect === 'familysearch',
    pages: new PageRenderer(pageSettings(pages, new URL(issuer).host, dialect)),
  }
}

/** Discovery at the host's root, with and without the issuer's path appended (RFC 8414 §3.1). */
function wellKnown(contextOf: ContextOf, { issuer, onError }: ServerSettings): RequestHandler {
  const router = Router()
  const path = new URL(issuer).pathname.replace(/\/$/, '')
  for (const endpoint of [openidConfigurationEndpoint, oauthMetadataEndpoint]) {
    const handler = endpointHandler(contextOf, endpoint, onError)
    for (const place of new Set([endpoint.path, endpoint.path + path])) router.all(literal(place), handler)
  }
  return router
}

/** Matches the path literally: Express 4 and 5 give different characters a meaning. */
function literal(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/?$`)
}

import type { Request, RequestHandler, Response, Router as ExpressRouter } from 'express'
import { type Dialect, dialectOf } from '../http/answer/dialect'
import { Router } from '../http/express'
import { warnOnce } from '../http/warn-once'
import { textOf } from './directories/rows'
import type { LoginRefusal, User, UserId } from './directories/user'
import { appsEndpoint } from './endpoints/apps'
import { discoveryEndpoints, jwksEndpoint } from './endpoints/discovery'
import { type Endpoint, type EndpointHandler, type Served, endpointHandler } from './endpoints/endpoint'
import { logoutEndpoint } from './endpoints/logout'
import { type SignIn, type SignInInteraction, type SignInRefusal, ownPage } from './endpoints/own-page'
import { pushedRequestEndpoint } from './endpoints/pushed-request'
import { registrationEndpoints } from './endpoints/register'
import { platformLogoutEndpoint, userinfoEndpoint } from './endpoints/resource'
import { signInFlow } from './endpoints/sign-in'
import { tokenEndpoint } from './endpoints/token'
import { introspectEndpoint, revokeEndpoint } from './endpoints/token-state'
import type { SigningKey } from './keys/keyring'
import { type SharedParts, dialectParts, sharedParts } from './parts'
import type { ApprovedApp } from './records/consents'
import type { Revocable } from './records/revocation-records'
import type { WebsiteSession } from './records/website-sessions'
import type { AuthorizationServerOptions } from './server-options'
import { type ServerSettings, serverSettings } from './server-settings'
import type { OAuthStore } from './stores/store'
import type { AccessTokenClaims } from './tokens/access-tokens'
import { knownUrl } from '../http/url'

/** The server's router, with middleware and functions for the rest of the app. */
export interface AuthorizationServer extends ExpressRouter {
  /** Serves the discovery documents at the host's root (RFC 8414 §3.1): `app.use(server.wellKnown)`. */
  readonly wellKnown: RequestHandler
  /** Revokes the bearer token and its whole grant, then answers 204: `app.post('/platform/logout', server.platformLogout)`. */
  readonly platformLogout: RequestHandler
  /** The claims of an active token of either format, else undefined: `requireBearer({ verify: server.verify })`. */
  readonly verify: (token: string) => Promise<AccessTokenClaims | undefined>
  /**
   * Ends every session, grant and approval that a user began before this call, and forgets the user's devices. Call it after
   * a password change. Rejects if the store is unreachable: try again.
   */
  readonly revokeUser: (userId: UserId) => Promise<void>
  /** The apps that a user approved, the latest first: what the page `/apps` below the issuer shows. */
  readonly approvals: (userId: UserId) => Promise<readonly ApprovedApp[]>
  /** Withdraws a user's approval of an app, and every token that the app has for the user. */
  readonly withdrawApproval: (userId: UserId, clientId: string) => Promise<void>
  /**
   * The sign-in for which the app's own page (option `login`) was opened, in the browser in which it began. Undefined if it
   * has expired, was used, or is another browser's.
   *
   * @param id where the request has it neither in its query nor in its parsed body, as `interaction`
   */
  readonly interaction: (req: Request, id?: string) => Promise<SignInInteraction | undefined>
  /**
   * Checks a name and a password for the app's own page, as `users.authenticate()` does, but under the login limits and in the
   * queue of logins. Undefined if they are wrong or must not be checked now: `refuse(req, res, { error: 'login_failed' })`
   * tells the page which.
   */
  readonly authenticate: (
    req: Request,
    username: unknown,
    password: unknown,
    interaction?: string,
  ) => Promise<User | LoginRefusal | undefined>
  /**
   * Ends it with a login, and sends the browser on. Shows a page where the interaction is not valid any more.
   *
   * @throws {TypeError} if the user is unknown, a value is not what it must be, or the response has been ended before
   */
  readonly signIn: (req: Request, res: Response, how: SignIn) => Promise<void>
  /** Ends it without a login, or reports a failed one, and sends the browser on. @throws {TypeError} as `signIn()` */
  readonly refuse: (req: Request, res: Response, why?: SignInRefusal) => Promise<void>
  /** Whether the token with these claims, its grant, website session, user or app is revoked, or its user is gone. */
  readonly isRevoked: (claims: Revocable) => Promise<boolean>
  /** The website session of a request, so that other pages of the same host share the login. Undefined without one. */
  readonly websiteSession: (req: Request) => Promise<WebsiteSession | undefined>
  /** Replaces the signing keys. Keep a retired key in the list until its last token has expired. @throws {TypeError} */
  readonly setSigningKeys: (keys: readonly SigningKey[]) => void
  /**
   * Sends the notices of sign-outs that wait, for 10 s at most, and warns of those that it gave up. The last server over a
   * store closes the store. Safe to call twice.
   */
  readonly close: () => Promise<void>
  /** As `close()`: `await using server = authorizationServer({ … })`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
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
  const { issuer, onError, log } = settings
  const shared = sharedParts(settings)
  const dialects = {
    familysearch: inDialect(settings, shared, 'familysearch'),
    standard: inDialect(settings, shared, 'standard'),
  }
  const of = (req: Request) => dialects[dialectOf(settings.dialect, req)]
  const handler = (pick: (server: ReturnType<typeof inDialect>) => Endpoint) =>
    endpointHandler((req): Served => ({ endpoint: pick(of(req)), pages: of(req).pages, log, onError }))
  /** Answers the browser as an endpoint does: a failure is a page. */
  const answer = (req: Request, res: Response, go: EndpointHandler) => {
    const method = req.method === 'HEAD' ? 'GET' : req.method
    const endpoint: Endpoint = { path: '/sign-in', methods: { [method]: go }, errors: 'page' }
    return new Promise<void>((resolve, reject) => {
      const done = handler(() => endpoint)(req, res, reject) as Promise<void>
      void done.then(resolve)
    })
  }
  const router = Router()
  router.use(mountCheck(issuer))
  dialects.standard.endpoints.forEach(({ path }, at) => {
    router.all(
      path,
      handler(({ endpoints }) => endpoints[at] as Endpoint),
    )
  })

  const { store } = settings
  serversOver.set(store, (serversOver.get(store) ?? 0) + 1)
  let closing: Promise<void> | undefined
  const close = () =>
    (closing ??= shared.notices.close().then(async () => {
      const others = (serversOver.get(store) ?? 1) - 1
      serversOver.set(store, others)
      if (others === 0) await store.close?.()
    }))

  return Object.assign(router, {
    wellKnown: wellKnown(issuer, handler),
    platformLogout: handler(({ platformLogout }) => platformLogout),
    verify: async (token: string) => (await shared.accessTokens.check(token))?.claims,
    revokeUser: async (userId: UserId) =>
      shared.end({ event: 'user revoked', userId: textOf(userId, 'revokeUser(): the id of the user') }),
    approvals: async (userId: UserId) => shared.consents.of(textOf(userId, 'approvals(): the id of the user')),
    withdrawApproval: async (id: UserId, clientId: string) => {
      const userId = textOf(id, 'withdrawApproval(): the id of the user')
      await shared.end({ event: 'app withdrawn', userId, clientId })
    },
    interaction: (req: Request, id?: string) => of(req).ownPage.interaction(req, id),
    authenticate: (req: Request, username: unknown, password: unknown, id?: string) =>
      of(req).ownPage.authenticate(req, username, password, id),
    signIn: async (req: Request, res: Response, how: SignIn) =>
      answer(req, res, await of(req).ownPage.signIn(req, res, how)),
    refuse: async (req: Request, res: Response, why: SignInRefusal = {}) =>
      answer(req, res, of(req).ownPage.refuse(req, res, why)),
    isRevoked: (claims: Revocable) => shared.accessTokens.isOver(claims),
    websiteSession: (req: Request) => websiteSession(shared, req),
    setSigningKeys: (keys: readonly SigningKey[]) => shared.keyring.replace(keys),
    close,
    [Symbol.asyncDispose]: close,
  })
}

/** Servers of this process that are not closed, by their store: the last one closes it. */
const serversOver = new WeakMap<OAuthStore, number>()

/** The server in one dialect. Both have the same endpoints. */
function inDialect(settings: ServerSettings, shared: SharedParts, dialect: Dialect) {
  const parts = { ...shared, ...dialectParts(settings, shared, dialect) }
  const flow = signInFlow(parts)
  const discovery = discoveryEndpoints(parts)
  // Express tries them in order, so the busiest comes first.
  const endpoints: readonly Endpoint[] = [
    tokenEndpoint(parts),
    ...flow.endpoints,
    pushedRequestEndpoint(parts),
    userinfoEndpoint(parts),
    revokeEndpoint(parts),
    introspectEndpoint(parts),
    logoutEndpoint(parts),
    appsEndpoint(parts, flow),
    ...discovery,
    jwksEndpoint(parts),
    ...(settings.registration ? registrationEndpoints(parts, settings.registration) : []),
  ]
  const platformLogout = platformLogoutEndpoint(parts)
  return { endpoints, discovery, platformLogout, ownPage: ownPage(parts, flow), pages: parts.pages }
}

async function websiteSession({ end, sessionOf, users }: SharedParts, req: Request) {
  const session = await sessionOf(req)
  if (!session) return undefined
  if (!(await users.find(session.userId))) return end({ event: 'user gone', session }) as Promise<undefined>
  return { sid: session.sid, userId: session.userId, authTimeMs: session.authTimeMs }
}

/** Warns, at the first request, if the server is not mounted at the path of its issuer. */
function mountCheck(issuer: string): RequestHandler {
  const path = knownUrl(issuer).pathname.replace(/\/$/, '')
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

/** Discovery at the host's root, with and without the issuer's path appended (RFC 8414 §3.1). */
function wellKnown(
  issuer: string,
  handler: (pick: (server: ReturnType<typeof inDialect>) => Endpoint) => RequestHandler,
): RequestHandler {
  const router = Router()
  const path = knownUrl(issuer).pathname.replace(/\/$/, '')
  for (const [at, name] of ['openid-configuration', 'oauth-authorization-server'].entries()) {
    const place = `/.well-known/${name}`
    const discovery = handler((server) => server.discovery[at] as Endpoint)
    for (const one of new Set([place, place + path])) router.all(literal(one), discovery)
  }
  return router
}

/** Matches the path literally: Express 4 and 5 give different characters a meaning. */
function literal(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/?$`)
}

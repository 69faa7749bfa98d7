import { type Request, Router, urlencoded } from 'express'
import { type Throttle, throttle } from 'express-tollgate'
import {
  type AuthorizationServer,
  type ClientRegistration,
  type OAuthStore,
  type UserRegistration,
  authorizationServer,
  clientDirectory,
  userDirectory,
} from 'express-tollgate/oauth'
import { MCP_PATH } from './mcp'

/** Path of the authorization server. */
export const ISSUER_PATH = '/cis-web/oauth2/v3'

/** Users. The demo prints their passwords. Never do that. */
export const users: readonly (UserRegistration & { readonly password: string })[] = [
  {
    id: 'KWC6-X7D',
    username: 'ada',
    password: 'analytical engine',
    claims: {
      givenName: 'Ada',
      family_name: 'Lovelace',
      language: 'en',
      locale: 'en-GB',
      email: 'ada@example.org',
      country: 'GB',
    },
  },
  { id: 'K2QX-9TT', username: 'grace', password: 'flow-matic', claims: { givenName: 'Grace' } },
  { id: 'K7LM-3RA', username: 'mary', password: 'on the connexion', claims: { givenName: 'Mary' } },
]

/** Secret of the service account. The demo prints it. */
export const SERVICE_SECRET = 'nightly-import-of-the-demo'

/** Apps of the demo's commands and pages. */
export function demoApps(origin: string): ClientRegistration[] {
  const redirectUris = [`${origin}/callback`]
  return [
    { clientId: 'family-app', name: 'Family App', realm: '/family', redirectUris },
    { clientId: 'photo-app', name: 'Photo App', realm: '/photo', redirectUris },
    { clientId: 'console', name: 'Console', realm: '/console', redirectUris: [`${origin}/`] },
    { clientId: 'dashboard', name: 'Dashboard', realm: '/admin', redirectUris: [`${origin}/admin/throttle/signed-in`] },
    { clientId: 'visitor-app', name: 'Visitor App', grants: ['unauthenticated_session'] },
    {
      clientId: 'nightly-import',
      name: 'Nightly Import',
      secret: SERVICE_SECRET,
      grants: ['client_credentials'],
      scopes: ['tree.read'],
    },
  ]
}

/** The authorization server and its router. */
export interface SignInServer {
  readonly server: AuthorizationServer
  readonly router: Router
  readonly throttled: Throttle
}

/** Options. Default: one process, with a key and a memory of its own. */
export interface SignInOptions {
  readonly apps?: readonly ClientRegistration[]
  readonly tokenType?: string
  readonly tokenStore?: OAuthStore
  readonly signingKey?: string
}

/** The authorization server. Its token endpoint has a throttle of its own. */
export function signInServer(
  origin: string,
  { apps = [], tokenType, tokenStore, signingKey }: SignInOptions = {},
): SignInServer {
  const server = authorizationServer({
    issuer: origin + ISSUER_PATH,
    clients: clientDirectory([...demoApps(origin), ...apps]),
    users: userDirectory(users),
    serviceScopes: true, // for `unauthenticated_session`, the grant of visitors, in both dialects
    pages: { brand: 'Family Records' },
    registration: { accept: () => ({ audiences: [origin + MCP_PATH] }) }, // MCP clients; their tokens open nothing else
    ...(tokenType !== undefined && { tokenType }),
    ...(tokenStore && { store: tokenStore }),
    ...(signingKey !== undefined && { signingKeys: [{ key: signingKey }] }),
  })
  // Signing a token takes a few milliseconds. Hundreds a minute for one app are a mistake.
  const throttled = throttle({ name: 'token', limitMs: 3_000, windowMs: 60_000, subject: appKeyAndAddress })
  const router = Router()
  router.use(`${ISSUER_PATH}/token`, urlencoded({ extended: false, limit: '64kb' }), throttled)
  router.use(ISSUER_PATH, server)
  router.use(server.wellKnown)
  router.post('/platform/logout', server.platformLogout)
  return { server, router, throttled }
}

/** A token request has no token yet, so the subject is the app and the IP address. */
function appKeyAndAddress(req: Request): string {
  const basic = /^Basic ([\w+/=-]+)$/i.exec(req.headers.authorization ?? '')?.[1]
  const { client_id: given } = (req.body ?? {}) as { client_id?: unknown }
  const appKey = basic === undefined ? given : Buffer.from(basic, 'base64').toString().split(':', 1)[0]
  return `${typeof appKey === 'string' ? appKey : ''} ${req.ip}`
}

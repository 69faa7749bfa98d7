import { once } from 'node:events'
import { type KeyObject, createPrivateKey, createPublicKey } from 'node:crypto'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  type ClientRegistration,
  type UserDirectory,
  authorizationServer,
  clientDirectory,
  userDirectory,
} from '../../lib/oauth'
import { generateKeys } from '../support/generate-keys'

/** RFC 7636 appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
export const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

export const SIGNING_KEY: KeyObject = rsaKeys(0).privateKey
export const CLIENT_KEYS = rsaKeys(1)

export const CLIENTS: readonly ClientRegistration[] = [
  {
    clientId: 'web',
    name: 'Web App',
    secret: 'secret',
    realm: '/web',
    redirectUris: ['https://client.test/cb', 'https://client.test/cb2'],
    postLogoutRedirectUris: ['https://client.test/bye'],
    grants: ['authorization_code', 'refresh_token', 'client_credentials'],
    scopes: ['tree.read', 'tree.write'],
  },
  { clientId: 'spa', name: 'Single Page', realm: '/spa', redirectUris: ['https://spa.test/cb'] },
  {
    clientId: 'native',
    name: 'Native',
    realm: '/native',
    redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb'],
    postLogoutRedirectUris: ['http://127.0.0.1/bye'],
  },
  { clientId: 'legacy', name: 'Legacy', realm: '/l', requirePkce: false, redirectUris: ['http://localhost/cb'] },
  { clientId: 'no-realm', name: 'No Realm', requirePkce: false, redirectUris: ['https://norealm.test/cb'] },
  { clientId: 'plain', name: 'Plain', plainPkce: true, redirectUris: ['https://plain.test/cb'] },
  {
    clientId: 'service',
    name: 'Service Account',
    grants: ['client_credentials'],
    publicKeys: [CLIENT_KEYS.publicKey],
    scopes: ['tree.read'],
  },
]

/** Ada has every claim, Bob none. The passwords cost little to hash. */
export const USERS: UserDirectory = userDirectory(
  [
    {
      id: 'KWC6-X7D',
      username: 'ada',
      password: 'analytical engine',
      claims: {
        givenName: 'Ada',
        family_name: 'Lovelace',
        gender: 'female',
        language: 'en',
        locale: 'en-GB',
        email: 'ada@example.org',
        country: 'GB',
        qualifies_for_affiliate_account: true,
      },
    },
    { id: 'K2QX-9TT', username: 'bob', password: 'builder' },
  ],
  { cost: 10 },
)

export interface RunningServer {
  readonly issuer: string
  readonly origin: string
  readonly server: AuthorizationServer
  readonly app: express.Express
  close(): Promise<void>
}

/**
 * A listening server, with defaults for every option that a spec does not set.
 *
 * @param first middleware before the server, such as CORS
 */
export async function startServer(
  options: Partial<AuthorizationServerOptions> = {},
  first?: express.RequestHandler,
): Promise<RunningServer> {
  const http = createServer().listen(0, '127.0.0.1')
  http.keepAliveTimeout = 0 // on a busy machine a client writes to a connection that the server has just closed
  await once(http, 'listening')
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const issuer = options.issuer ?? `${origin}/cis-web/oauth2/v3`
  const defaults = { issuer, clients: clientDirectory(CLIENTS), users: USERS, signingKeys: [{ key: SIGNING_KEY }] }
  let server: AuthorizationServer
  try {
    server = authorizationServer({ ...defaults, onError: () => undefined, log: () => undefined, ...options })
  } catch (err) {
    await closed(http)
    throw err
  }
  const app = express()
  if (first) app.use(first)
  app.use(new URL(issuer).pathname, server)
  app.use(server.wellKnown)
  app.post('/platform/logout', server.platformLogout)
  http.on('request', app)
  return { issuer, origin, server, app, close: () => closed(http) }
}

export function closed(http: Server): Promise<void> {
  http.closeAllConnections()
  return new Promise((resolve) => http.close(() => resolve()))
}

export type Form = Readonly<Record<string, string>>

/** Sends a form, with credentials of `web` unless told otherwise. */
export function post(url: string, form: Form, headers: Form = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' })
}

export const AS_WEB = { authorization: `Basic ${Buffer.from('web:secret').toString('base64')}` }

export async function json(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

/** The keys that `npm test` made for all files. New ones if a file runs alone. */
function rsaKeys(n: number) {
  const made = (JSON.parse(process.env.SPEC_RSA_KEYS ?? '[]') as string[])[n]
  if (made === undefined) return generateKeys('rsa')
  return { privateKey: createPrivateKey(made), publicKey: createPublicKey(made) }
}

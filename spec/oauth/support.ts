import { once } from 'node:events'
import { type KeyObject, createPrivateKey, createPublicKey } from 'node:crypto'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before } from 'node:test'
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
 * A listening server with defaults for every option that a spec does not set, until the test that it is called in is done.
 *
 * @param first middleware before the server, such as CORS
 */
export async function startServer(
  options: Partial<AuthorizationServerOptions> = {},
  first?: express.RequestHandler,
): Promise<RunningServer> {
  const running = await openServer(options, first)
  after(() => running.close())
  return running
}

/**
 * The same for the suite or the file that it is called in. Its specs and later hooks may read it.
 *
 * @param options or what makes them before the specs run
 */
export function serverOfSuite(
  options: Partial<AuthorizationServerOptions> | (() => MaybePromise<Partial<AuthorizationServerOptions>>) = {},
): RunningServer {
  let running: RunningServer
  before(async () => {
    running = await openServer(typeof options === 'function' ? await options() : options)
  })
  after(() => running.close())
  return {
    get issuer() {
      return running.issuer
    },
    get origin() {
      return running.origin
    },
    get server() {
      return running.server
    },
    get app() {
      return running.app
    },
    close: () => running.close(),
  }
}

type MaybePromise<Value> = Value | Promise<Value>

/** The same until it is closed: for hooks, and for processes of their own. */
export async function openServer(
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

/** What the token endpoint answers: tokens, or an error. */
export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly scope: string
  readonly error: string
}

/** Asks the token endpoint, as `web` unless told otherwise. */
export async function askToken(issuer: string, form: Form, headers: Form = AS_WEB): Promise<Tokens> {
  return (await (await post(`${issuer}/token`, form, headers)).json()) as Tokens
}

/** Uses a refresh token, as `web` unless told otherwise. */
export function refresh(issuer: string, token: string, more: Form = {}, headers: Form = AS_WEB): Promise<Response> {
  return post(`${issuer}/token`, { grant_type: 'refresh_token', refresh_token: token, ...more }, headers)
}

/** Registers an app, or sends other JSON. */
export function postJson(url: string, body: unknown, headers: Form = {}, method = 'POST'): Promise<Response> {
  const sent = { 'content-type': 'application/json', ...headers }
  return fetch(url, { method, headers: sent, ...(body !== undefined && { body: JSON.stringify(body) }) })
}

/** The keys that `npm test` made for all files. New ones if a file runs alone. */
function rsaKeys(n: number) {
  const made = (JSON.parse(process.env.SPEC_RSA_KEYS ?? '[]') as string[])[n]
  if (made === undefined) return generateKeys('rsa')
  return { privateKey: createPrivateKey(made), publicKey: createPublicKey(made) }
}

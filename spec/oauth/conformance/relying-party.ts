import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { type JWTPayload, createLocalJWKSet, jwtVerify } from 'jose'
import { type ClientRegistration, type UserDirectory, userDirectory } from '../../../lib/oauth'
import type { ManualClock } from '../../../lib/testing'
import { type Form, type RunningServer, json, post } from '../support'
import { type Page, UserAgent } from '../user-agent'
import { USER_CLAIMS } from '../user-claims'
import { assertIs, above } from '../../support/until'

export const USERS: UserDirectory = userDirectory(
  [{ id: 'KWC6-X7D', username: 'ada', password: 'analytical engine', claims: USER_CLAIMS }],
  { cost: 10 },
)

/** Two apps as the conformance suite registers them: with a secret, and without PKCE, which Basic OP does not send. */
export const CLIENTS = ['first', 'second'].map((clientId): ClientRegistration => ({
  clientId,
  name: clientId,
  secret: `the secret of ${clientId}`,
  realm: '/conformance',
  requirePkce: false,
  redirectUris: [`https://${clientId}.test/callback`],
  postLogoutRedirectUris: [`https://${clientId}.test/post_logout`],
  grants: ['authorization_code', 'refresh_token'],
}))

/** The token response, with its id_token verified. */
export interface Tokens {
  readonly access_token: string
  readonly id_token: string
  readonly refresh_token: string
  readonly claims: JWTPayload & { readonly auth_time?: number; readonly acr?: string; readonly nonce?: string }
}

/** An app with a user at a browser. It checks every response as a relying party must, in every module. */
export class RelyingParty {
  readonly agent: UserAgent
  readonly clientId: string
  readonly redirectUri: string

  constructor(
    readonly running: RunningServer,
    readonly clock: ManualClock,
    { clientId, redirectUris }: ClientRegistration = CLIENTS[0] as ClientRegistration,
  ) {
    this.agent = new UserAgent(running.issuer)
    this.clientId = clientId
    this.redirectUri = redirectUris?.[0] as string
  }

  /** An authorization request of its own; an empty value leaves a parameter out. */
  request(more: Form = {}): Form {
    const all = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: this.redirectUri,
      scope: 'openid',
      state: randomUUID(),
      nonce: randomUUID(),
      ...more,
    }
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
  }

  /** Sends the user with a request, and back: signs in and accepts the terms where asked to. */
  async visit(request: Form): Promise<{ readonly params: URLSearchParams; readonly wasAsked: boolean }> {
    const page = await this.agent.authorize(this.running.issuer, request)
    return { params: this.response(await this.complete(page), request), wasAsked: page.title === 'Sign in' }
  }

  /** What the user does at the server's pages. */
  async complete(page: Page): Promise<Page> {
    if (page.title === 'Sign in') page = await page.logIn()
    return page.title === 'Terms of access' ? page.accept() : page
  }

  /** The parameters of an authorization response: sent to the app, with its state and the issuer (RFC 9207 §2). */
  response(page: Page, request: Form): URLSearchParams {
    assert.ok(page.location?.startsWith(`${this.redirectUri}?`), page.location ?? page.text.slice(0, 1_000))
    assert.equal(page.params.get('state'), request.state ?? null)
    assert.equal(page.params.get('iss'), this.running.issuer)
    return page.params
  }

  /** From the request to the tokens. */
  async signIn(more: Form = {}, redemption: Form = {}): Promise<Tokens> {
    const request = this.request(more)
    const { params } = await this.visit(request)
    return this.tokens(await this.redeem(params.get('code') ?? '', redemption), request.nonce)
  }

  redeem(code: string, more: Form = {}): Promise<Response> {
    return this.token({ grant_type: 'authorization_code', code, redirect_uri: this.redirectUri, ...more })
  }

  /** By client_secret_basic. */
  token(form: Form): Promise<Response> {
    const authorization = `Basic ${Buffer.from(`${this.clientId}:the secret of ${this.clientId}`).toString('base64')}`
    return post(`${this.running.issuer}/token`, form, { authorization })
  }

  /** The tokens of a response (RFC 6749 §5.1), after the checks of OIDC Core §3.1.3.5 and §3.1.3.7. */
  async tokens(response: Response, nonce?: string): Promise<Tokens> {
    assert.equal(response.status, 200, await response.clone().text())
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const body = await json(response)
    assert.match(String(body.token_type), /^(bearer|dpop)$/i)
    assertIs(Number(body.expires_in), above(0))
    const { access_token: accessToken, id_token: idToken } = body as Form
    assert.ok(accessToken && idToken)
    const jwks = createLocalJWKSet((await json(await fetch(`${this.running.issuer}/jwks`))) as never)
    const { payload, protectedHeader } = await jwtVerify(idToken, jwks, {
      issuer: this.running.issuer,
      audience: this.clientId,
      currentDate: new Date(this.clock.date()),
      requiredClaims: ['sub', 'exp', 'iat'],
    })
    assert.equal(protectedHeader.alg, 'RS256')
    assert.ok(protectedHeader.kid)
    assert.match(payload.sub ?? '', /^[\x20-\x7e]{1,255}$/)
    assert.equal(payload.nonce, nonce)
    assert.equal(
      payload.at_hash,
      createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
    )
    return { ...body, claims: payload } as unknown as Tokens
  }

  async userinfo(token: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
    const response = await this.askUserinfo(token, init)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    return json(response)
  }

  askUserinfo(token: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.running.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` }, ...init })
  }
}

/** An error of the token endpoint (RFC 6749 §5.2). */
export async function tokenError(response: Response): Promise<unknown> {
  assert.ok(response.status === 400 || response.status === 401, String(response.status))
  return (await json(response)).error
}

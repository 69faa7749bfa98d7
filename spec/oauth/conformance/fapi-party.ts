import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { ClientRegistration } from '../../../lib/oauth'
import type { ManualClock } from '../../../lib/testing'
import { type KeyHolder, ath } from '../key-holder'
import { CHALLENGE, CLIENT_KEYS, type Form, type RunningServer, VERIFIER, json, post } from '../support'
import type { Page } from '../user-agent'
import { RelyingParty } from './relying-party'
import { assertIs, between } from '../../support/until'

/** Two apps that FAPI 2 would have: confidential, by private_key_jwt, with pushed requests and bound tokens only. */
export const CLIENTS = ['first', 'second'].map((clientId): ClientRegistration => ({
  clientId,
  name: clientId,
  publicKeys: [CLIENT_KEYS.publicKey],
  realm: '/conformance',
  redirectUris: [`https://${clientId}.test/callback`],
  grants: ['authorization_code', 'refresh_token'],
  requirePushedRequests: true,
  requireDpop: true,
}))
/** An app that pushes its requests, signs its assertions and proves its key. */
export class FapiParty extends RelyingParty {
  constructor(
    running: RunningServer,
    clock: ManualClock,
    readonly holder: KeyHolder,
    client = 0,
  ) {
    super(running, clock, CLIENTS[client])
  }

  override request(more: Form = {}): Form {
    return super.request({ code_challenge: CHALLENGE, code_challenge_method: 'S256', ...more })
  }

  /** By private_key_jwt with PS256. */
  async assertion(): Promise<Form> {
    const nowSec = Math.floor(this.clock.date() / 1_000)
    const claims = { iss: this.clientId, sub: this.clientId, aud: this.running.issuer, exp: nowSec + 60 }
    const signed = new SignJWT({ ...claims, jti: randomUUID() }).setProtectedHeader({ alg: 'PS256' })
    return {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await signed.sign(CLIENT_KEYS.privateKey),
    }
  }

  async push(request: Form, dpop?: string): Promise<Response> {
    const form = { ...request, ...(await this.assertion()) }
    return post(`${this.running.issuer}/par`, form, dpop === undefined ? {} : { dpop })
  }

  /** The request_uri of a request. */
  async pushed(request: Form, dpop?: string): Promise<string> {
    const response = await this.push(request, dpop)
    assert.equal(response.status, 201, await response.clone().text())
    const { request_uri: uri, expires_in: expiresIn } = await json(response)
    assertIs(Number(expiresIn), between(5, 600))
    return uri as string
  }

  open(uri: string, more: Form = {}): Promise<Page> {
    return this.agent.authorize(this.running.issuer, { client_id: this.clientId, request_uri: uri, ...more })
  }

  /** A code for what was asked. */
  async code(request: Form, dpop?: string): Promise<string> {
    const page = await this.complete(await this.open(await this.pushed(request, dpop)))
    return this.response(page, request).get('code') ?? ''
  }

  /** @param proof in place of a good one; empty: none */
  override async token(form: Form, proof: string | null = null): Promise<Response> {
    const url = `${this.running.issuer}/token`
    const dpop = proof ?? (await this.holder.proof(url))
    return post(url, { ...form, ...(await this.assertion()) }, dpop === '' ? {} : { dpop })
  }

  override redeem(code: string, more: Form = {}, proof: string | null = null): Promise<Response> {
    const form = { grant_type: 'authorization_code', code, redirect_uri: this.redirectUri, code_verifier: VERIFIER }
    return this.token({ ...form, ...more }, proof)
  }

  override async signIn(more: Form = {}) {
    const request = this.request(more)
    return this.tokens(await this.redeem(await this.code(request)), request.nonce)
  }

  /** What a resource answers. @param scheme of the Authorization field */
  async call(token: string, scheme = 'DPoP', holder = this.holder): Promise<number> {
    const url = `${this.running.issuer}/userinfo`
    const dpop = await holder.proof(url, { ath: ath(token) }, 'GET')
    return (await fetch(url, { headers: { authorization: `${scheme} ${token}`, dpop } })).status
  }
}

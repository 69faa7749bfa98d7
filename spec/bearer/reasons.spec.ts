import assert from 'node:assert/strict'
import { createHmac, hash, randomUUID } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it } from 'node:test'
import express, { type RequestHandler } from 'express'
import { SignJWT, type JWK } from 'jose'
import {
  requireStepUp,
  requireBearer,
  requireScope,
  type BearerMessage,
  type BearerOptions,
  type Reason,
} from '../../lib'
import { thumbprint } from '../../lib/bearer/dpop/thumbprint'
import { devIssuer, type DevTokenOptions } from '../../lib/testing'
import { serve } from '../support/serve'
import { generateKeys } from '../support/generate-keys'

const dev = devIssuer()
const { privateKey, publicKey } = generateKeys('ec')
const jwk = publicKey.export({ format: 'jwk' }) as JWK
const bound = dev.token('ada', { claims: { cnf: { jkt: thumbprint(publicKey) } } })
const down = () => Promise.reject(new Error('down'))
const nobody = 'http://127.0.0.1:1'

const tokenWith = (claims: Record<string, unknown>, options: DevTokenOptions = {}) =>
  dev.token('ada', { ...options, claims })
/** A token of another header or key. */
const forged = (header: object, claims = {}) => {
  const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url')
  const text = `${part({ typ: 'at+jwt', ...header })}.${part({ iss: dev.issuer, ...claims })}`
  return `${text}.${createHmac('sha256', 'no key of anybody').update(text).digest('base64url')}`
}
const proof =
  (claims: object = {}) =>
  (url: string) =>
    new SignJWT({
      ...{ jti: randomUUID(), htm: 'GET', htu: `${url}/`, iat: Math.floor(Date.now() / 1_000) },
      ...{ ath: hash('sha256', bound, 'base64url'), ...claims },
    })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
      .sign(privateKey)

interface Case {
  readonly status: 400 | 401 | 403 | 503
  /** On the wire. Absent: a challenge without an error, or no challenge. */
  readonly error?: string
  /** Beside the issuer, its audience and its key, or in their place. */
  readonly options?: Readonly<Record<string, unknown>>
  readonly guard?: RequestHandler
  readonly token?: string
  readonly authorization?: string
  readonly dpop?: (url: string) => Promise<string>
  readonly query?: string
  /** What lies behind it, as the channel tells. */
  readonly cause?: RegExp
}

const invalid = { status: 401, error: 'invalid_token' } as const
const unknown = { status: 503 } as const
const opaque = { key: undefined }
const bySecret = { key: undefined, jwksUri: `${nobody}/keys`, allowHttp: true }
const seen = new Set<string>()
const proofs = {
  note: (name: string) => (seen.has(name) ? 'replay' : (seen.add(name), 'new')),
} as never

/** Every reason there is: a request that is refused for it and for nothing else. */
const CASES: Record<Reason, Case> = {
  no_token: { status: 401 },
  malformed_credentials: { status: 400, error: 'invalid_request', authorization: 'Bearer a b' },
  several_tokens: {
    ...{ status: 400, error: 'invalid_request' },
    ...{ options: { tokenFrom: ['query'] }, token: dev.token('ada'), query: `?access_token=${dev.token('ada')}` },
  },
  malformed_token: { ...invalid, token: 'a.b' },
  critical_header: { ...invalid, token: dev.attack('critical-header') },
  token_type: { ...invalid, token: dev.attack('another-type') },
  id_token: { ...invalid, token: dev.attack('id-token') },
  algorithm: { ...invalid, token: forged({ alg: 'HS256' }) },
  unknown_key: { ...invalid, token: forged({ alg: 'ES256', kid: 'nobody’s' }) },
  signature: { ...invalid, token: dev.attack('claims-changed') },
  issuer: { ...invalid, token: dev.attack('another-issuer') },
  audience: { ...invalid, token: dev.attack('another-audience') },
  expired: { ...invalid, token: dev.attack('expired') },
  expiry: { ...invalid, token: dev.attack('never-expires') },
  not_yet_valid: { ...invalid, token: dev.attack('not-yet-valid') },
  issued_at: { ...invalid, token: tokenWith({ iat: 'yesterday' }) },
  too_old: {
    ...{ ...invalid, options: { maxTokenAgeSec: 60 } },
    token: tokenWith({ iat: Math.floor(Date.now() / 1_000) - 3_000 }),
  },
  subject: { ...invalid, token: tokenWith({ sub: 7 }) },
  client: { ...invalid, token: tokenWith({ client_id: 7 }) },
  token_id: { ...invalid, token: tokenWith({ jti: 7 }) },
  sender_constrained: { ...invalid, token: dev.attack('bound-to-a-key'), cause: /\[ 'jkt' \]; set the option dpop$/ },
  required_claim: { ...invalid, options: { requiredClaims: ['tenant'] }, token: dev.token('ada') },
  claim_check: { ...invalid, options: { checkClaims: () => false }, token: dev.token('ada') },
  session_kind: { ...invalid, token: tokenWith({ session_kind: 'robot' }) },
  authentication: {
    ...{ status: 401, error: 'insufficient_user_authentication' },
    ...{ guard: requireStepUp({ maxAgeSec: 60 }), token: dev.token('ada') },
  },
  scope: { status: 403, error: 'insufficient_scope', guard: requireScope('write'), token: dev.token('ada') },
  unauthenticated_session: {
    ...{ status: 403, error: 'insufficient_scope' },
    token: dev.token('kiosk', { kind: 'unauthenticated' }),
  },
  inactive: { ...invalid, options: { ...opaque, verify: () => undefined }, token: 'opaque' },
  revoked: { ...invalid, options: { revocation: { state: () => 'revoked' } }, token: dev.token('ada') },
  dpop_required: {
    ...{ ...invalid, options: { dpop: { required: true } } },
    token: dev.token('ada'),
  },
  dpop_proof: {
    ...{ status: 401, error: 'invalid_dpop_proof', options: { dpop: true } },
    ...{ authorization: `DPoP ${bound}`, dpop: proof({ htm: 'POST' }) },
  },
  dpop_nonce: {
    ...{ status: 401, error: 'use_dpop_nonce', options: { dpop: { nonceSecret: 'n'.repeat(32) } } },
    ...{ authorization: `DPoP ${bound}`, dpop: proof() },
  },
  dpop_binding: {
    ...{ ...invalid, options: { dpop: true } },
    ...{ authorization: `DPoP ${tokenWith({ cnf: { jkt: 'x'.repeat(43) } })}` },
    dpop: (url) => proof({ ath: hash('sha256', CASES.dpop_binding.authorization?.slice(5) ?? '', 'base64url') })(url),
  },
  dpop_replay: {
    ...{ status: 401, error: 'invalid_dpop_proof', options: { dpop: { proofs: { note: () => 'replay' } } } },
    ...{ authorization: `DPoP ${bound}`, dpop: proof() },
  },
  keys_unavailable: { ...unknown, options: bySecret, token: forged({ alg: 'RS256' }), cause: /./ },
  introspection_unavailable: {
    ...{ ...unknown, cause: /./, token: 'opaque' },
    options: {
      ...{ ...opaque, allowHttp: true },
      introspection: { endpoint: nobody, clientId: 'api', clientSecret: 'secret' },
    },
  },
  verify_unavailable: {
    ...{ ...unknown, token: 'opaque', cause: /down/ },
    options: { ...opaque, verify: down },
  },
  tenants_unavailable: {
    ...{ ...unknown, token: dev.token('ada'), cause: /down/ },
    options: { issuer: 'https://{tid}.test', tenants: down },
  },
  revocation_unavailable: {
    ...{ ...unknown, token: dev.token('ada'), cause: /behind/ },
    options: { revocation: { state: () => ({ unavailable: new Error('behind') }) } },
  },
  dpop_unavailable: {
    ...{ ...unknown, options: { dpop: { proofs: { note: down } } } },
    ...{ authorization: `DPoP ${bound}`, dpop: proof(), cause: /down/ },
  },
}

/** Asks once, and tells what was answered and what the channel said. */
async function told({ options, guard, token, authorization, dpop, query = '' }: Case) {
  const all = { ...dev.options, ...options } as unknown as BearerOptions
  const app = express().use(requireBearer(all), ...(guard ? [guard] : []), (_req, res) => void res.json({}))
  const { url } = await serve(app)
  const headers: Record<string, string> = {}
  if (token !== undefined || authorization !== undefined) headers.authorization = authorization ?? `Bearer ${token}`
  if (dpop) headers.dpop = await dpop(url)
  const events: BearerMessage[] = []
  const listener = (event: unknown) => void events.push(event as BearerMessage)
  subscribe('express-tollgate:bearer', listener)
  try {
    const answer = await fetch(`${url}/${query}`, { headers })
    return { answer, body: await answer.text(), events, event: events.at(-1) as BearerMessage }
  } finally {
    unsubscribe('express-tollgate:bearer', listener)
  }
}

describe('the reason of a refusal', () => {
  for (const [reason, one] of Object.entries(CASES)) {
    it(`${reason} is told on the channel, and ${one.error ?? one.status} on the wire`, async () => {
      const { answer, body, event, events } = await told(one)
      assert.deepEqual([event.reason, answer.status, event.session], [reason, one.status, undefined])
      assert.equal(event.req?.method, 'GET')
      const before = events.slice(0, -1).map((one) => [one.reason, one.session?.sub]) // of requireBearer(), before a guard
      assert.deepEqual(before, one.guard ? [[undefined, 'ada']] : [])
      const challenge = answer.headers.get('www-authenticate') ?? ''
      assert.equal(/error="([^"]*)"/.exec(challenge)?.[1], one.error)
      assert.equal(challenge === '', one.status === 503)
      assert.equal(answer.headers.has('retry-after'), one.status === 503)
      if (one.cause) assert.match(String(event.cause), one.cause)
      else assert.equal(event.cause, undefined)
      const wire = body + JSON.stringify([...answer.headers])
      assert.ok(!wire.includes(new URL(nobody).host))
      if (reason.includes('_')) assert.doesNotMatch(wire, new RegExp(`\\b${reason}\\b`))
      if (one.token !== undefined && one.token.length > 20) assert.ok(!wire.includes(one.token))
    })
  }

  it('is told with what the app’s own functions threw, or did not answer', async () => {
    const thrown = () => {
      throw new Error('by the app')
    }
    const token = dev.token('ada')
    for (const [reason, options, cause] of [
      ['claim_check', { checkClaims: thrown }, /^Error: by the app$/],
      ['session_kind', { session: thrown }, /^Error: by the app$/],
      ['session_kind', { session: () => ({ kind: 'admin' }) }, /^TypeError: the option session returned no session$/],
    ] as const) {
      const { answer, event } = await told({ ...invalid, options, token })
      assert.deepEqual([event.reason, answer.status], [reason, 401])
      assert.match(String(event.cause), cause)
    }
  })

  it('advises dpop only for a token that is bound by the thumbprint of a key', async () => {
    for (const [cnf, dpop, cause] of [
      [{ jkt: 'x' }, true, "[ 'jkt' ]; it came without a DPoP proof"],
      [{ 'x5t#S256': 'x' }, undefined, "[ 'x5t#S256' ]; only jkt is supported"],
      [{ 'x5t#S256': 'x' }, true, "[ 'x5t#S256' ]; only jkt is supported"],
      [{ kid: 'x', jwk: {} }, undefined, "[ 'kid', 'jwk' ]; only jkt is supported"],
      [{}, undefined, '[]; only jkt is supported'],
      ['text', undefined, '[]; only jkt is supported'],
    ] as const) {
      const options = { dpop: dpop && { origin: 'https://api.test' } }
      const { event } = await told({ ...invalid, options, token: tokenWith({ cnf }) })
      assert.equal(event.reason, 'sender_constrained')
      assert.equal((event.cause as Error).message, `the token is bound by cnf ${cause}`)
    }
  })

  it('is none where the request is let in, and the session is told', async () => {
    const valid = { revocation: { state: () => 'valid' as const } }
    const asynchronous = { ...opaque, verify: () => Promise.resolve({ sub: 'ada', aud: dev.options.audience }) }
    for (const options of [{}, valid, { checkClaims: () => true as const }, asynchronous]) {
      const { answer, event } = await told({ ...invalid, options, token: dev.token('ada') })
      assert.deepEqual([answer.status, event.reason, event.session?.sub], [200, undefined, 'ada'])
    }
    const { answer, event } = await told({ status: 401, options: { optional: true } })
    assert.deepEqual([answer.status, event.reason, event.session], [200, undefined, undefined])
    const first = await told({
      status: 401,
      options: { dpop: { proofs } },
      authorization: `DPoP ${bound}`,
      dpop: proof(),
    })
    assert.deepEqual([first.answer.status, first.event.session?.sub], [200, 'ada'])
  })
})

import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { Agent, request as httpRequest } from 'node:http'
import { describe, it } from 'node:test'
import express from 'express'
import { requireBearer } from '../../lib'
import { AUTHORIZATION_PARAMS } from '../../lib/oauth/parameters/authorization-request'
import type { ClientMetadata } from '../../lib/oauth/parameters/client-metadata'
import { Params } from '../../lib/oauth/parameters/params'
import { type Form, SIGNING_KEY, json, postJson, startServer } from './support'
import { serve } from '../support/serve'
import { request } from './user-agent'
import { assertIs, above } from '../support/until'

/** What makes parsers, patterns and templates look at the same text again and again. */
const FILLS = ['{{', '://', '=.', '"\'', '<', ' ', '%', ',', '[', '\\', 'e\u0301', '\u2068', '.', ';', '&lt;']

/** More than this is measured again, and more often: below it no growth can be told from noise. */
const NOTED_MS = 10
/** Twice the length of the text may take so many times the work: 2 where it is linear, 4 where it is quadratic. */
const MOST_GROWTH = 3

type Send = (text: string) => Promise<void>

/** Milliseconds of processor. */
async function costOf(send: Send, text: string): Promise<number> {
  const before = process.cpuUsage()
  await send(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

async function medianOf(send: Send, text: string): Promise<number> {
  const costs: number[] = []
  for (let i = 0; i < 7; i++) costs.push(await costOf(send, text))
  return costs.toSorted((a, b) => a - b)[3] as number
}

/** Asserts that the work for a text of any fill grows with its length. */
async function assertLinear(what: string, send: Send, longest: number): Promise<void> {
  for (const fill of FILLS) {
    const text = (length: number) => fill.repeat(Math.ceil(length / fill.length)).slice(0, length)
    if ((await costOf(send, text(longest))) < NOTED_MS) continue
    let growth = ''
    for (let round = 0; round < 3; round++) {
      const [half, whole] = [await medianOf(send, text(longest / 2)), await medianOf(send, text(longest))]
      growth = whole < NOTED_MS || whole < MOST_GROWTH * half ? '' : `${whole} ms, half of it ${half} ms`
      if (growth === '') break
    }
    assert.equal(growth, '', `${what}, ${longest} of ${JSON.stringify(fill)}: ${growth}`)
  }
}

const agent = new Agent({ keepAlive: true })

function send(url: string, headers: Form, body?: string, method = body === undefined ? 'GET' : 'POST'): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { agent, method, headers, maxHeaderSize: 262_144 }, (response) =>
      response.resume().on('end', resolve),
    )
    sent.on('error', reject).end(body)
  })
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const PAR = request({ client_id: 'spa', redirect_uri: 'https://spa.test/cb' })

/**
 * Requests that each endpoint reads to the end: one for each way through it. A parameter that one of them makes the
 * endpoint read is filled; so a new parameter is covered by itself.
 */
const waysOf = (stranger: string): readonly (readonly [path: string, form: Form])[] => [
  ['/authorization', request({ response_mode: 'form_post', prompt: 'none', state: 'x' })],
  [
    '/authorization',
    request({ client_id: stranger, redirect_uri: 'https://stranger.test/cb', state: 'x', prompt: 'none' }),
  ],
  ['/authorization', request({ prompt: 'login', login_hint: 'x', ui_locales: 'x', acr_values: 'x', claims: '{}' })],
  ['/par', PAR],
  ['/login', { request: 'x', csrf: 'x', action: 'login', username: 'x', password: 'x' }],
  ['/terms', { request: 'x', csrf: 'x', action: 'accept' }],
  ['/approval', { request: 'x', csrf: 'x', action: 'accept' }],
  ['/apps', { request: 'x', csrf: 'x', app: 'x' }],
  ['/logout', { client_id: stranger, post_logout_redirect_uri: 'https://stranger.test/bye', state: 'x' }],
  ['/logout', { request: 'x', csrf: 'x', id_token_hint: 'x' }],
  ['/introspect', { client_id: 'web', client_secret: 'secret', token: 'x' }],
  ['/revoke', { client_id: 'spa', token: 'x' }],
  ['/userinfo', { access_token: 'x' }],
  ['/token', { client_id: 'web', client_assertion_type: 'x', client_assertion: 'x', grant_type: 'authorization_code' }],
  ...['authorization_code', 'refresh_token', 'password', 'client_credentials', 'unauthenticated_session'].map(
    (grant_type) =>
      ['/token', { client_id: 'spa', grant_type, code: 'x', redirect_uri: 'x', code_verifier: 'x' }] as const,
  ),
  [
    '/token',
    { client_id: 'web', client_secret: 'secret', grant_type: 'client_credentials', scope: 'x', resource: 'x' },
  ],
]

/** Every member of a registration: a new one fails to compile here until it stands in the list. */
const MEMBERS: Record<keyof ClientMetadata, true> = {
  ...{ client_id: true, redirect_uris: true, client_name: true, token_endpoint_auth_method: true, grant_types: true },
  ...{ response_types: true, scope: true, client_uri: true, post_logout_redirect_uris: true },
  ...{
    require_pushed_authorization_requests: true,
    dpop_bound_access_tokens: true,
    jwks: true,
    jwks_uri: true,
    sent: true,
  },
}

const HEADERS = [
  'authorization',
  'cookie',
  'accept-language',
  'origin',
  'dpop',
  'x-forwarded-for',
  'sec-fetch-site',
  'forwarded',
]
const SCHEMES = ['', 'Bearer ', 'Basic ', 'DPoP ']

async function started() {
  const running = await startServer({ registration: { accept: () => ({}), perAddress: 10_000 } })
  running.app.set('trust proxy', 1)
  const uris = { redirect_uris: ['https://stranger.test/cb'], post_logout_redirect_uris: ['https://stranger.test/bye'] }
  const app = await json(await postJson(`${running.issuer}/register`, { ...uris, token_endpoint_auth_method: 'none' }))
  const ways = waysOf(app.client_id as string)
  for (const [path, form] of ways) await send(running.issuer + path, FORM, new URLSearchParams({ ...form }).toString())
  return { ...running, ways }
}

/** The names that a request makes the server look up. */
async function namesRead(ask: () => Promise<void>): Promise<Set<string>> {
  const names = new Set<string>()
  const own = { get: Reflect.get(Params.prototype, 'get'), all: Reflect.get(Params.prototype, 'all') }
  for (const [method, read] of Object.entries(own) as [string, (this: Params, name: string) => unknown][]) {
    Reflect.set(Params.prototype, method, function (this: Params, name: string) {
      names.add(name)
      return read.call(this, name)
    })
  }
  try {
    await ask()
  } finally {
    Object.assign(Params.prototype, own)
  }
  return names
}

describe('the work for a request', () => {
  it('grows with the length of each parameter of each endpoint, and not faster', async () => {
    const { issuer, ways } = await started()
    const seen = new Set<string>()
    for (const [path, form] of ways) {
      const post = (more: Form) => send(issuer + path, FORM, new URLSearchParams({ ...form, ...more }).toString())
      const names = await namesRead(() => post({}))
      for (const name of Object.keys(form)) names.add(name)
      assertIs(names.size, above(0), path)
      // Longer requests are refused there.
      const longest = path === '/authorization' || path === '/par' ? 15_000 : 32_000
      for (const name of names) {
        if (path === '/token' && seen.has(`${name} at ${path}`)) continue // each grant reads it in the same way
        seen.add(name).add(`${name} at ${path}`)
        await assertLinear(`${name} at ${path}`, (text) => post({ [name]: text }), longest)
      }
    }
    for (const name of AUTHORIZATION_PARAMS) assert.ok(seen.has(name), name)
    for (const name of Object.keys(MEMBERS)) {
      const register = (value: unknown) => {
        const method = name.startsWith('jwks') && { token_endpoint_auth_method: 'private_key_jwt' }
        const body = JSON.stringify({ redirect_uris: ['https://e.test/cb'], ...method, [name]: value })
        return send(`${issuer}/register`, { 'content-type': 'application/json' }, body)
      }
      await assertLinear(`${name} at /register`, register, 32_000)
      await assertLinear(`[${name}] at /register`, (text) => register([text]), 32_000)
    }
  })

  it('grows with the length of each header field, and not faster', async () => {
    const { issuer } = await started()
    const app = express().set('trust proxy', 1)
    const tokenFrom = [{ header: 'x-token', padded: true }, { cookie: 'token' }, 'query', 'form'] as const
    const keys = { key: createPublicKey(SIGNING_KEY), issuer, audience: 'api', maxTokenLength: 16_384, warnings: false }
    app.use(requireBearer({ ...keys, tokenFrom: [...tokenFrom], dpop: {} }), (_req, res) => void res.end())
    const api = await serve(app)
    const printable = (text: string) => text.replace(/[^\x20-\x7e]/g, 'x')
    const urls = [
      `${issuer}/userinfo`,
      `${issuer}/authorization?${new URLSearchParams({ ...request() }).toString()}`,
      api.url,
    ]
    for (const url of urls) {
      for (const header of [...HEADERS, 'x-token']) {
        for (const scheme of header === 'authorization' ? SCHEMES : ['']) {
          const field = (text: string) => send(url, { [header]: scheme + printable(text) })
          await assertLinear(`${scheme}${header} at ${new URL(url).pathname}`, field, 12_000)
        }
      }
    }
    const query = (text: string) => send(`${api.url}/?access_token=${encodeURIComponent(text).slice(0, 12_000)}`, {})
    await assertLinear('access_token', query, 12_000)
  })
})

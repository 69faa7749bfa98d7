import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { type AuthorizationServerOptions, type RegistrationOptions, clientDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { type RunningServer, VERIFIER, askToken, json, post, postJson, startServer } from './support'
import { UserAgent, request } from './user-agent'
import { assertIs, below, until } from '../support/until'

const REDIRECT = 'http://localhost:3334/callback'
const METADATA = {
  client_name: 'MCP Inspector',
  redirect_uris: [REDIRECT],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

async function started(
  registration: Partial<RegistrationOptions> = {},
  more: Partial<AuthorizationServerOptions> = {},
): Promise<RunningServer> {
  return startServer({ registration: { accept: () => ({}), ...registration }, ...more })
}

function send(url: string, body: unknown, token?: unknown, method = 'POST'): Promise<Response> {
  return postJson(url, body, token === undefined ? {} : { authorization: `Bearer ${token as string}` }, method)
}

const register = ({ issuer }: RunningServer, body: unknown, token?: unknown) => send(`${issuer}/register`, body, token)

/** The page that this app's user sees, and the tokens that the app gets then. */
async function logIn({ issuer }: RunningServer, clientId: unknown, more: Record<string, string> = {}) {
  const asked = request({ client_id: clientId as string, redirect_uri: REDIRECT, ...more })
  const page = await new UserAgent(issuer).authorize(issuer, asked)
  if (page.status !== 200) return { page, tokens: undefined }
  const code = (await (await page.logIn()).finish()).params.get('code') ?? ''
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT, code_verifier: VERIFIER }
  return { page, tokens: await askToken(issuer, { ...form, client_id: clientId as string }, {}) }
}

describe('dynamic registration', () => {
  it('RFC 7591 §3: is off by default, and not in the discovery document', async () => {
    const running = await startServer()
    assert.equal((await register(running, METADATA)).status, 404)
    const discovery = await json(await fetch(`${running.issuer}/.well-known/oauth-authorization-server`))
    assert.equal('registration_endpoint' in discovery, false)
  })

  it('RFC 7591 §3.2.1: registers a public app, which signs a user in; its name is shown with its host', async () => {
    const running = await started()
    const discovery = await json(await fetch(`${running.issuer}/.well-known/oauth-authorization-server`))
    const response = await send(discovery.registration_endpoint as string, { ...METADATA, 'client_name#de': 'x' })
    assert.equal(response.status, 201)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const { client_id, client_id_issued_at, registration_access_token, registration_client_uri, ...said } =
      await json(response)
    assert.deepEqual(said, METADATA)
    assertIs(Math.abs((client_id_issued_at as number) - Date.now() / 1_000), below(60))
    assert.match(registration_access_token as string, /^[\w-]{43}$/)
    assert.equal(registration_client_uri, `${running.issuer}/register/${client_id as string}`)
    const { page, tokens } = await logIn(running, client_id)
    assert.match(page.text, /to continue to <bdi>MCP Inspector<\/bdi> \(<bdi>localhost:3334<\/bdi>\)/)
    assert.equal(typeof tokens?.refresh_token, 'string')
  })

  it('RFC 7591 §2: an app with a secret must authenticate with it', async () => {
    const running = await started()
    const app = await json(await register(running, { redirect_uris: [REDIRECT], scope: 'openid x' }))
    assert.deepEqual(
      [app.token_endpoint_auth_method, app.grant_types, app.client_secret_expires_at, app.scope, app.client_name],
      ['client_secret_basic', ['authorization_code'], 0, 'openid', 'localhost:3334'],
    )
    const clientId = app.client_id as string
    const form = { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT, client_id: clientId }
    assert.equal((await askToken(running.issuer, form, {})).error, 'invalid_client')
    const known = await post(`${running.issuer}/token`, { ...form, client_secret: app.client_secret as string })
    assert.equal((await json(known)).error, 'invalid_grant', 'authenticated: only the code is wrong')
  })

  it('RFC 7591 §2: an app with private_key_jwt registers its public keys, gets no secret, and signs', async () => {
    const running = await started()
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k1' }
    const keyed = { ...METADATA, token_endpoint_auth_method: 'private_key_jwt' }
    const keys = [{ ...jwk, x5c: ['left out'] }, { kty: 'EC', crv: 'P-521' }] // prettier-ignore
    const app = await json(await register(running, { ...keyed, jwks: { keys } }))
    assert.deepEqual(
      [app.token_endpoint_auth_method, app.jwks, app.client_secret],
      ['private_key_jwt', { keys: [jwk] }, undefined],
    )
    const clientId = app.client_id as string
    const form = { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT, client_id: clientId }
    const assertion = new SignJWT({ jti: 'j1' }).setProtectedHeader({ alg: 'EdDSA' }).setIssuer(clientId)
    const signed = await assertion
      .setSubject(clientId)
      .setAudience(running.issuer)
      .setExpirationTime('1m')
      .sign(privateKey)
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    for (const [more, error] of [
      [{}, 'invalid_client'],
      [{ client_assertion_type: type, client_assertion: signed }, 'invalid_grant'], // the code
    ] as const) {
      assert.equal((await askToken(running.issuer, { ...form, ...more }, {})).error, error)
    }
    const none = await register(running, { ...keyed, jwks: { keys: [{ kty: 'oct', k: 'eA' }] } })
    assert.equal((await json(none)).error, 'invalid_client_metadata')
    const uri = { ...keyed, jwks_uri: 'https://app.test/jwks' }
    assert.equal((await json(await register(running, uri))).jwks_uri, uri.jwks_uri)
  })

  it('takes back the scopes_supported of the discovery document', async () => {
    const scopes = Array.from({ length: 150 }, (_, i) => `notes.${i}.read`)
    const clients = { ...clientDirectory([]), scopes }
    const running = await started({ accept: () => ({ scopes }) }, { clients, dialect: 'standard' })
    const discovery = await json(await fetch(`${running.issuer}/.well-known/oauth-authorization-server`))
    const scope = (discovery.scopes_supported as string[]).join(' ')
    const app = await json(await register(running, { ...METADATA, scope }))
    assert.equal(app.scope, scope)
  })

  it('RFC 7591 §3.2.2: wrong metadata is refused', async () => {
    const running = await started({ perAddress: 100 })
    for (const [more, error] of [
      [{ redirect_uris: [] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['http://evil.test/cb'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: 'https://a.test' }, 'invalid_redirect_uri'],
      [{ redirect_uris: null }, 'invalid_redirect_uri'],
      [{ redirect_uris: Array.from({ length: 11 }, (_, i) => `https://a.test/${i}`) }, 'invalid_redirect_uri'],
      ...'javascript data file blob vbscript ws ftp view-source mailto'
        .split(' ')
        .map((scheme) => [{ redirect_uris: [`${scheme}://x/cb`] }, 'invalid_redirect_uri'] as const),
      ...['a;b.test', 'a,b.test', "a'b.test", 'a*.test'].map(
        (host) => [{ redirect_uris: [`https://${host}/cb`] }, 'invalid_redirect_uri'] as const,
      ),
      [{ post_logout_redirect_uris: ['x'] }, 'invalid_redirect_uri'],
      ...['x'.repeat(101), 'Bank\u202etsurT', 'Bank\u200e', 'a\u2028b', 7].map(
        (client_name) => [{ client_name }, 'invalid_client_metadata'] as const,
      ),
      [{ token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
      [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
      [{ response_types: ['token'] }, 'invalid_client_metadata'],
      [{ dpop_bound_access_tokens: 'yes' }, 'invalid_client_metadata'],
    ] as const) {
      const response = await register(running, { ...METADATA, ...more })
      assert.deepEqual([response.status, (await json(response)).error], [400, error], JSON.stringify(more).slice(0, 80))
    }
    for (const body of [[], 'x', null]) assert.equal((await register(running, body)).status, 400)
    assert.equal((await post(`${running.issuer}/register`, { redirect_uris: REDIRECT })).status, 400)
  })

  it('is at most 8 KiB as it is kept, and a longer one is told so', async () => {
    const running = await started()
    const uris = (length: number) => Array.from({ length: 10 }, (_, i) => `https://a.test/${i}${'x'.repeat(length)}`)
    assert.equal((await register(running, { ...METADATA, redirect_uris: uris(700) })).status, 201)
    for (const more of [
      { redirect_uris: uris(900) },
      { post_logout_redirect_uris: uris(900) },
      { redirect_uris: uris(400), post_logout_redirect_uris: uris(400) },
    ]) {
      const response = await register(running, { ...METADATA, ...more })
      assert.equal(response.status, 400)
      const { error, error_description: why } = await json(response)
      assert.deepEqual([error, why], ['invalid_client_metadata', 'The registration is longer than 8192 bytes.'])
    }
  })

  it('RFC 7591 §3: accept() refuses, or names the scopes that the app may request', async () => {
    const accept: RegistrationOptions['accept'] = ({ redirect_uris: uris, sent }, req) =>
      (req.headers.authorization === 'Bearer initial' || sent?.software_statement === 'e30.e30.c2ln') && {
        scopes: ['tree.read'],
        audiences: [`https://${uris.length}.test`],
      }
    const running = await started({ accept })
    const refused = await register(running, METADATA)
    assert.deepEqual([refused.status, (await json(refused)).error], [403, 'access_denied'])
    const stated = await json(
      await register(running, { ...METADATA, software_statement: 'e30.e30.c2ln', contacts: [] }),
    )
    assert.deepEqual([typeof stated.client_id, stated.sent, stated.contacts], ['string', undefined, undefined])
    const app = await json(await register(running, METADATA, 'initial'))
    const { tokens } = await logIn(running, app.client_id, { scope: 'openid tree.read tree.write' })
    assert.equal(tokens?.scope, 'openid tree.read')
    const claims = await running.server.verify(tokens?.access_token)
    assert.equal(claims?.aud, 'https://1.test')
  })

  it('RFC 7591 §5: registrations are limited by address and in all, with Retry-After', async () => {
    for (const limits of [{ perAddress: 2 }, { perHour: 2 }]) {
      const running = await started(limits)
      const statuses = []
      for (let i = 0; i < 3; i++) {
        const response = await register(running, { ...METADATA, client_name: `App ${i}` })
        statuses.push([response.status, response.headers.has('retry-after')])
      }
      assert.deepEqual(statuses, [
        [201, false],
        [201, false],
        [429, true],
      ])
    }
  })

  it('an app expires a while after its registration or its last use, whichever came last', async () => {
    const clock = manualClock()
    const running = await started({ lifetimeSec: 3_600, perAddress: 4 }, { clock })
    const named = async (name: string) => json(await register(running, { ...METADATA, client_name: name }))
    const [used, unused] = [await named('used'), await named('unused')]
    const isKept = async ({ client_id: clientId }: Record<string, unknown>) => {
      const asked = request({ client_id: clientId as string, redirect_uri: REDIRECT })
      return (await new UserAgent(running.issuer).authorize(running.issuer, asked)).status === 200
    }
    clock.advance(3_000_000)
    assert.equal((await logIn(running, used.client_id)).page.status, 200)
    assert.equal(
      (await send(unused.registration_client_uri as string, undefined, unused.registration_access_token, 'GET')).status,
      200,
    )
    clock.advance(3_000_000)
    assert.deepEqual([await isKept(used), await isKept(unused)], [true, false], 'asking and reading keep no app')

    // Replacing one counts as another registration: it begins its time anew.
    const app = await named('replaced')
    const replace = async ({ client_id: clientId, ...more }: Record<string, unknown>) => {
      const body = { ...METADATA, client_id: clientId }
      return (await send(more.registration_client_uri as string, body, more.registration_access_token, 'PUT')).status
    }
    assert.deepEqual(
      [await replace(app), await replace(app), await replace(app), await replace(app)],
      [200, 200, 200, 429],
    )
  })

  it('the same metadata again are another registration, of whoever registers, and count', async () => {
    const running = await started({ perAddress: 3 })
    const [first, other] = [
      await json(await register(running, METADATA)),
      await json(await register(running, METADATA)),
    ]
    assert.notEqual(other.client_id, first.client_id)
    for (const { registration_client_uri: uri, registration_access_token: token } of [first, other]) {
      assert.equal((await send(uri as string, undefined, token, 'GET')).status, 200)
    }
    await register(running, METADATA)
    assert.equal((await json(await register(running, METADATA))).error, 'temporarily_unavailable')
  })

  it('a PUT whose body comes late acts on what is there then: 200 after another PUT, 401 after a DELETE', async () => {
    for (const meanwhile of ['PUT', 'DELETE']) {
      const running = await started({ perAddress: 9 })
      const {
        client_id,
        registration_client_uri,
        registration_access_token: token,
      } = await json(await register(running, METADATA))
      const uri = registration_client_uri as string
      const body = JSON.stringify({ ...METADATA, client_id, client_name: 'Late' })
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${String(token)}` }
      const put = httpRequest(uri, { method: 'PUT', headers: { ...headers, 'content-length': body.length } })
      put.write(body.slice(0, 5))
      const now = await send(uri, { ...METADATA, client_id, client_name: 'Now' }, token, meanwhile)
      assert.equal(now.status, meanwhile === 'PUT' ? 200 : 204)
      put.end(body.slice(5))
      const [late] = (await once(put, 'response')) as [IncomingMessage]
      assert.equal(late.resume().statusCode, meanwhile === 'PUT' ? 200 : 401, 'it reads what is there, after its body')
    }
  })

  it('of three changes at once one is made, and the others get 409', async () => {
    let asked = 0
    const accept = async () => (asked++, await until(() => asked === 1 || asked === 4, true), {}) // all have read by then
    const running = await started({ perAddress: 9, accept })
    const {
      client_id,
      registration_client_uri: uri,
      registration_access_token: token,
    } = await json(await register(running, METADATA))
    const change = (client_name: string) => send(uri as string, { ...METADATA, client_id, client_name }, token, 'PUT')
    const statuses = await Promise.all(['One', 'Two', 'Three'].map(async (name) => (await change(name)).status))
    assert.deepEqual(statuses.sort(), [200, 409, 409])
  })

  it('RFC 7592 §2: its own token reads, replaces and deletes a registration, and no other token does', async () => {
    const running = await started()
    const [app, other] = [
      await json(await register(running, METADATA)),
      await json(await register(running, { ...METADATA, client_name: 'Other' })),
    ]
    const url = app.registration_client_uri as string
    const own = app.registration_access_token
    for (const method of ['GET', 'PUT', 'DELETE']) {
      for (const token of [undefined, 'x', other.registration_access_token]) {
        const body = method === 'PUT' ? { ...METADATA, client_id: app.client_id } : undefined
        assert.equal((await send(url, body, token, method)).status, 401, `${method} ${token as string}`)
      }
    }
    assert.equal((await json(await send(url, undefined, own, 'GET'))).client_id, app.client_id)
    const renamed = { client_name: 'Renamed', redirect_uris: [REDIRECT, 'https://b.test/'] }
    const changed = { ...METADATA, client_id: app.client_id, ...renamed }
    assert.equal((await json(await send(url, changed, own, 'PUT'))).client_name, 'Renamed')
    assert.match((await logIn(running, app.client_id)).page.text, /Renamed<\/bdi> \(<bdi>localhost:3334/)
    for (const wrong of [{ client_id: other.client_id }, { token_endpoint_auth_method: 'client_secret_basic' }]) {
      assert.equal((await send(url, { ...changed, ...wrong }, own, 'PUT')).status, 400)
    }
    assert.equal((await send(url, undefined, own, 'DELETE')).status, 204)
    assert.equal((await logIn(running, app.client_id)).page.status, 400)
    assert.equal((await send(url, undefined, own, 'GET')).status, 401)
  })

  it('takes null for absent, joiners in names, and custom schemes that accept allows', async () => {
    const running = await started({ perAddress: 100 })
    const names = ['scope', 'client_uri', 'client_name', 'grant_types', 'response_types', 'token_endpoint_auth_method']
    const nulls = [...names, 'post_logout_redirect_uris', 'dpop_bound_access_tokens', 'contacts', 'logo_uri']
    for (const more of [
      ...nulls.map((name) => ({ [name]: null })),
      { client_name: 'Dev \u{1F469}\u200d\u{1F4BB}' },
      { client_name: '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645' },
      { redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'] },
      { redirect_uris: ['vscode:/cb', 'http://127.0.0.1/'] },
    ]) {
      const response = await register(running, { ...METADATA, ...more })
      assert.equal(response.status, 201, JSON.stringify(more))
    }
  })

  it('RFC 7592 §2.2 and §3: answers have the access token, and a secret that is sent must be the one issued', async () => {
    const running = await started()
    const body = { redirect_uris: [REDIRECT] }
    const app = await json(await register(running, body))
    const [url, token] = [app.registration_client_uri as string, app.registration_access_token]
    const replace = async (more: object) => {
      const response = await send(url, { ...body, client_id: app.client_id, ...more }, token, 'PUT')
      return [response.status, (await json(response)).registration_access_token]
    }
    const read = await json(await send(url, undefined, token, 'GET'))
    assert.deepEqual([read.registration_access_token, read.client_secret_expires_at], [token, 0])
    assert.deepEqual(await replace({ client_secret: app.client_secret }), [200, token])
    assert.deepEqual(await replace({ client_secret: null }), [200, token])
    for (const secret of ['another', '', 7, [app.client_secret]])
      assert.deepEqual(await replace({ client_secret: secret }), [400, undefined], String(secret))
  })

  it('refused ones do not use up what an address may register', async () => {
    const accept: RegistrationOptions['accept'] = ({ client_name: name }) => name !== 'No' && {}
    const running = await started({ accept, perAddress: 2 })
    const status = async (more: object) => (await register(running, { ...METADATA, ...more })).status
    for (let i = 0; i < 30; i++) assert.equal(await status({ client_name: 'No' }), 403)
    for (let i = 0; i < 30; i++) assert.equal(await status({ redirect_uris: [] }), 400)
    const named = (client_name: string) => status({ client_name })
    assert.deepEqual([await named('1'), await named('2'), await named('3')], [201, 201, 429])
  })

  it('accept() grants by an object, refuses by nothing, and fails with 503 for anything else', async () => {
    for (const [granted, status] of [
      [undefined, 403],
      [null, 403],
      [true, 503],
      [{ scope: 'x' }, 503],
      [{ onwardOrigins: ['https://a;b'] }, 503],
    ] as const) {
      const running = await started({ accept: (() => granted) as unknown as RegistrationOptions['accept'] })
      assert.equal((await register(running, METADATA)).status, status, JSON.stringify(granted))
    }
  })
})

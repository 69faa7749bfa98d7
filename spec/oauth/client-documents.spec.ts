import assert from 'node:assert/strict'
import { type KeyPairKeyObjectResult as KeyPair, generateKeyPairSync, randomUUID } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { type ClientMetadata, type RegistrationOptions, memoryOAuthStore } from '../../lib/oauth'
import { fetchDocument, lookUpPublic, publicFetch } from '../../lib/oauth/clients/public-fetch'
import { systemClock } from '../../lib/http/clock'
import { isPublicAddress } from '../../lib/oauth/directories/addresses'
import { manualClock } from '../../lib/testing'
import { CERT, KEY } from '../support/tls'
import { assertIs, atLeast, atMost, until } from '../support/until'
import { type Tokens, VERIFIER, askToken, json, refresh, startServer } from './support'
import { UserAgent, request } from './user-agent'

const fetchNow = globalThis.fetch
const HERE = 'http://127.0.0.1:33418/cb'
const jwkOf = ({ publicKey }: KeyPair) => publicKey.export({ format: 'jwk' })
const LOCAL = [{ address: '127.0.0.1', family: 4 }]

describe('a URL as client_id', () => {
  let host: Server
  let origin: string
  /** What the host answers, by path. */
  const answers = new Map<string, (req: IncomingMessage, res: ServerResponse) => void>()
  const hits: string[] = []
  before(async () => {
    host = createServer({ cert: CERT, key: KEY }, (req, res) => {
      hits.push(req.url as string)
      answers.get(req.url as string)?.(req, res)
    }).listen(0, '127.0.0.1')
    await once(host, 'listening')
    origin = `https://editor.test:${(host.address() as AddressInfo).port}`
  })
  after(() => {
    host.closeAllConnections()
    host.close()
  })

  /** Publishes a document, and returns the app's id. */
  function publish(path: string, more: object = {}, headers: Record<string, string> = {}): string {
    const document = { client_id: origin + path, client_name: 'Editor', redirect_uris: [HERE], ...more }
    answers.set(path, (_req, res) => void res.writeHead(200, headers).end(JSON.stringify(document)))
    return origin + path
  }

  async function started(options: Partial<RegistrationOptions> = {}, clock = manualClock()) {
    const fetch = publicFetch({ lookUp: () => Promise.resolve(LOCAL), isPublic: () => true, ca: CERT })
    const registration = { accept: () => ({ scopes: ['tree.read'] }), fetch, ...options }
    const lines: string[] = []
    const running = await startServer({
      ...{ dialect: 'standard', clock, store: memoryOAuthStore({ clock }) },
      ...{ registration, log: (line) => lines.push(line) },
    })
    const ask = (client_id: string, more: Record<string, string> = {}, agent = new UserAgent(running.issuer)) =>
      agent.authorize(running.issuer, request({ client_id, redirect_uri: HERE, scope: 'openid tree.read', ...more }))
    return { ...running, ask, lines, clock }
  }

  it('is an app that the user approves by its name and the host of its document, and gets tokens', async () => {
    const seen: ClientMetadata[] = []
    const running = await started({ accept: (metadata) => (seen.push(metadata), { scopes: ['tree.read'] }) })
    const grants = { grant_types: ['authorization_code', 'refresh_token'] }
    const clientId = publish('/client.json', { ...grants, scope: 'openid tree.read offline_access' })
    const page = await (await running.ask(clientId)).logIn()
    assert.equal(page.title, 'Allow Editor?')
    for (const words of [
      'It publishes its name at <bdi>editor.test:',
      'nobody here has checked',
      'Editor</bdi> (<bdi>editor.test',
    ])
      assert.ok(page.text.includes(words) || page.text.includes('127.0.0.1:33418'), words)
    const code = (await page.accept()).params.get('code') ?? ''
    const app = { client_id: clientId, redirect_uri: HERE }
    const form = { ...app, grant_type: 'authorization_code', code_verifier: VERIFIER }
    const tokens = await askToken(running.issuer, { ...form, code }, {})
    assert.equal(tokens.scope, 'openid tree.read')
    const refreshed = await refresh(running.issuer, tokens.refresh_token, { client_id: clientId }, {})
    assert.equal(refreshed.status, 200)
    assert.equal(seen[0]?.client_id, clientId)
    assert.equal(hits.filter((path) => path === '/client.json').length, 1, 'one fetch for all of it')
    const metadata = await json(await fetch(`${running.issuer}/.well-known/oauth-authorization-server`))
    assert.equal(metadata.client_id_metadata_document_supported, true)
  })

  it('is refused by a page that is no redirect, with the reason in the log', async () => {
    const running = await started()
    const big = { client_uri: 'x'.repeat(70_000) }
    answers.set('/moved', (_req, res) => void res.writeHead(302, { location: '/client.json' }).end())
    answers.set('/missing', (_req, res) => void res.writeHead(404).end())
    answers.set('/text', (_req, res) => void res.end('hello'))
    answers.set('/list', (_req, res) => void res.end('[]'))
    answers.set('/reset', (req) => void req.socket.destroy())
    const keyed = { token_endpoint_auth_method: 'private_key_jwt' }
    for (const [status, clientId, reason] of [
      [503, origin + '/moved', /answered 302/],
      [503, origin + '/missing', /answered 404/],
      [503, origin + '/text', /not JSON/],
      [503, origin + '/list', /something else than a JSON object/],
      [503, origin + '/reset', /could not be fetched: socket hang up/],
      [503, publish('/big', big), /larger than 65536 bytes/],
      [503, publish('/other', { client_id: 'https://evil.test/client.json' }), /client_id in .* is another/],
      [503, origin.replace('editor.test', 'unknown.test') + '/client.json', /certificate|altnames/],
      [400, publish('/secret', { token_endpoint_auth_method: 'client_secret_basic' }), /can keep no secret/],
      [400, publish('/given', { client_secret: 'x' }), /can keep no secret/],
      [400, publish('/no-uri', { redirect_uris: [] }), /redirect_uris are missing/],
      [400, publish('/plain', { redirect_uris: ['http://editor.test/cb'] }), /must be https/],
      [400, publish('/no-keys', keyed), /either jwks or jwks_uri/],
      [400, publish('/both', { ...keyed, jwks: { keys: [] }, jwks_uri: `${origin}/jwks` }), /either jwks or jwks_uri/],
      [400, publish('/empty', { ...keyed, jwks: { keys: [{ kty: 'oct', k: 'x' }] } }), /jwks must hold a public key/],
      [400, publish('/inner', { ...keyed, jwks_uri: 'http://127.0.0.1/jwks' }), /jwks_uri must be an https URL/],
    ] as [number, string, RegExp][]) {
      const page = await running.ask(clientId)
      assert.deepEqual([page.status, page.location], [status, null], clientId)
      assert.match(running.lines.at(-1) ?? '', reason)
      assert.equal(page.response.headers.get('retry-after'), status === 503 ? '30' : null)
    }
    const elsewhere = await running.ask(publish('/client.json'), { redirect_uri: 'https://evil.test/cb' })
    assert.deepEqual([elsewhere.status, elsewhere.location], [400, null], 'not one of its redirect_uris')
  })

  it('is no document with another scheme, no path, or another way of writing it', async () => {
    const running = await started()
    hits.length = 0
    publish('/client.json')
    for (const clientId of [
      ...[origin, `${origin}/`, `${origin}/client.json#x`, `${origin}/a/../client.json`, `${origin}/%2e/client.json`],
      ...[origin.replace('https', 'http') + '/client.json', origin.replace('//', '//u:p@') + '/client.json'],
      ...[origin.toUpperCase() + '/client.json', origin.replace('//', '/') + '/client.json', 'file:///client.json'],
    ]) {
      assert.equal((await running.ask(clientId)).status, 400, clientId)
    }
    assert.deepEqual(hits, [])
  })

  it('is fetched again when its Cache-Control is over, after a minute to a day, or half a minute where it failed', async () => {
    const clock = manualClock()
    const running = await started({}, clock)
    for (const [control, keptMs] of [
      ['max-age=600', 600_000],
      ['no-store', 60_000],
      ['max-age=31536000', 86_400_000],
      ['', 300_000],
    ] as const) {
      hits.length = 0
      const clientId = publish(`/cached-${keptMs}`, {}, { 'cache-control': control })
      await running.ask(clientId)
      clock.advance(keptMs - 5_000) // the document's Date is the host's
      await running.ask(clientId)
      assert.equal(hits.length, 1, control)
      clock.advance(5_000)
      await running.ask(clientId)
      assert.equal(hits.length, 2, control)
    }
    answers.set('/broken', (_req, res) => void res.writeHead(500).end())
    hits.length = 0
    for (const ms of [0, 29_999, 1]) {
      clock.advance(ms)
      await running.ask(`${origin}/broken`)
    }
    assert.equal(hits.length, 2)
  })

  it('is away for a moment: the last good copy counts for a day, then 503, and never invalid_client', async () => {
    const clock = manualClock()
    const running = await started({}, clock)
    const path = '/away.json'
    const grants = { grant_types: ['authorization_code', 'refresh_token'] }
    const clientId = publish(path, grants)
    const app = { client_id: clientId, redirect_uri: HERE }
    const code = (await (await (await running.ask(clientId)).logIn()).accept()).params.get('code') ?? ''
    const form = { ...app, code, grant_type: 'authorization_code', code_verifier: VERIFIER }
    let tokens = await askToken(running.issuer, form, {})
    const refreshed = async () => {
      const response = await refresh(running.issuer, tokens.refresh_token, { client_id: clientId }, {})
      const body = (await response.json()) as Tokens
      if (response.status === 200) tokens = body
      return [response.status, body.error, response.headers.get('retry-after')]
    }
    const good = [200, undefined, null]
    for (const answer of [
      (res: ServerResponse) => res.writeHead(503).end('busy'),
      (res: ServerResponse) => res.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Are you human?</h1>'),
      (res: ServerResponse) => res.writeHead(404).end(),
      (res: ServerResponse) => res.end('{"status":"maintenance"}'),
      (res: ServerResponse) => res.socket?.destroy(),
    ]) {
      answers.set(path, (_req, res) => void answer(res))
      clock.advance(3_600_000)
      assert.deepEqual(await refreshed(), good)
    }
    hits.length = 0
    for (const ms of [0, 29_999, 1]) {
      clock.advance(ms)
      assert.deepEqual(await refreshed(), good)
    }
    assert.equal(hits.length, 1, 'asked again after half a minute')
    clock.advance(19 * 3_600_000 + 240_000)
    assert.deepEqual(await refreshed(), good, 'five minutes and a day after it was read')
    clock.advance(60_000)
    assert.deepEqual(await refreshed(), [503, 'temporarily_unavailable', '30'])
    assert.match(running.lines.at(-1) ?? '', /socket hang up/)
    publish(path, grants)
    clock.advance(30_000)
    assert.deepEqual(await refreshed(), good)
    // What the app says itself counts at once.
    publish(path, { ...grants, redirect_uris: [] })
    clock.advance(300_000)
    assert.deepEqual(await refreshed(), [400, 'invalid_client', null])
  })

  it('with the last good copy needs no fetch where its address has named too many apps', async () => {
    const clock = manualClock()
    const running = await started({}, clock)
    const clientId = publish('/good.json')
    assert.equal((await running.ask(clientId)).status, 200)
    clock.advance(300_000)
    for (let i = 0; i < 60; i++) await running.ask(publish(`/much-${i}`))
    assert.equal((await running.ask(publish('/too-much'))).status, 429)
    assert.equal((await running.ask(clientId)).status, 200)
  })

  it('authenticates by private_key_jwt, with keys of its jwks or at its jwks_uri, which it may replace', async () => {
    const clock = manualClock()
    const running = await started({}, clock)
    const [ec, next] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' })) as [KeyPair, KeyPair]
    const others = [
      { kty: 'oct', k: 'c2VjcmV0' },
      { ...jwkOf(next), use: 'enc' },
      next.privateKey.export({ format: 'jwk' }),
    ]
    const jwks = (key: KeyPair) => ({ keys: [...others, jwkOf(key)] })
    const serveKeys = (key: KeyPair) => answers.set('/jwks', (_req, res) => void res.end(JSON.stringify(jwks(key))))
    const keyed = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' }
    const grants = { grant_types: ['authorization_code', 'refresh_token'] }
    serveKeys(ec)
    for (const where of [{ jwks: jwks(ec) }, { jwks_uri: `${origin}/jwks` }]) {
      const clientId = publish('jwks' in where ? '/inline.json' : '/by-uri.json', { ...grants, ...keyed, ...where })
      const code = (await (await (await running.ask(clientId)).logIn()).accept()).params.get('code') ?? ''
      const form = { grant_type: 'authorization_code', redirect_uri: HERE, code, code_verifier: VERIFIER }
      const token = async (more: Record<string, string>) =>
        askToken(running.issuer, { client_id: clientId, ...more }, {})
      const assertion = async (key: KeyPair) => ({
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await new SignJWT({ jti: randomUUID() })
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(clientId)
          .setSubject(clientId)
          .setAudience(running.issuer)
          .setExpirationTime(clock.date() / 1_000 + 60)
          .sign(key.privateKey),
      })
      assert.equal((await token(form)).error, 'invalid_client', 'it is confidential')
      assert.equal((await token({ ...form, ...(await assertion(next)) })).error, 'invalid_client', 'another key')
      let tokens = await token({ ...form, ...(await assertion(ec)) })
      assert.equal(tokens.token_type, 'Bearer')
      const refresh = async (key: KeyPair) => {
        const refreshed = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
        const answer = await token({ ...refreshed, ...(await assertion(key)) })
        if (answer.error === undefined) tokens = answer
        return answer.error
      }
      if ('jwks' in where) continue
      serveKeys(next)
      assert.equal(await refresh(ec), undefined, 'fresh for five minutes')
      clock.advance(30_000)
      assert.equal(await refresh(next), undefined, 'but a key that is not there is looked for')
      clock.advance(3_600_000)
      answers.set('/jwks', (_req, res) => void res.writeHead(503).end())
      assert.equal(await refresh(next), undefined, 'the last good keys')
      clock.advance(2 * 86_400_000)
      assert.equal(await refresh(next), 'temporarily_unavailable')
    }
  })

  it('is fetched once for all who wait, for 5 s, and 60 times a minute for one address', async () => {
    const clock = manualClock()
    const running = await started({}, clock)
    hits.length = 0
    for (let i = 0; i < 8; i++) answers.set(`/slow-${i}`, () => undefined)
    const slow = [running.ask(`${origin}/slow-0`)]
    await until(() => hits.length, 1)
    for (let i = 0; i < 16; i++) slow.push(running.ask(`${origin}/slow-${Math.max(0, i - 8)}`))
    await until(() => hits.length, 8) // of one block
    const late = running.ask(publish('/quick'))
    await until(() => running.lines.some((line) => line.includes('429')) || (clock.advance(500), false))
    assert.equal((await late).status, 429)
    assert.equal(hits.length, 8)
    clock.advance(5_000)
    assert.deepEqual(new Set((await Promise.all(slow)).map(({ status }) => status)), new Set([503]))
    assert.match(running.lines.find((line) => line.includes('5000')) ?? '', /no answer within 5000 ms/)
    for (let i = 0; i < 51; i++) await running.ask(publish(`/many-${i}`))
    const page = await running.ask(publish('/one-more'))
    assert.equal(page.status, 429)
    assert.match(page.response.headers.get('retry-after') ?? '', /^[45]\d$/)
    assert.equal((await running.ask(`${origin}/many-1`)).status, 200, 'what is known is fetched by nobody')
  })

  it('is fetched for other blocks while strangers name slow hosts: one address, ten /56 of a /48, four blocks', async () => {
    for (const addressOf of [
      () => '198.51.100.7',
      (i: number) => `2001:db8:77:${(i % 10) + 1}00::1`,
      (i: number) => ['198.51.100.7', '2001:db8:77::1', '192.0.2.9', '2001:db9:1::1'][i % 4] as string,
    ]) {
      let open = 0
      let most = 0
      const fetch = async (url: string, { signal }: { signal: AbortSignal }) => {
        most = Math.max(most, ++open)
        if (url.includes('slow')) await new Promise((resolve) => signal.addEventListener('abort', resolve))
        open--
        const app = { client_id: url, redirect_uris: [HERE], client_name: 'Editor' }
        return { status: 200, headers: { get: () => null }, body: [Buffer.from(JSON.stringify(app))] }
      }
      const running = await started({ fetch })
      running.app.set('trust proxy', 1)
      const ask = async (clientId: string, address: string) => {
        const query = new URLSearchParams({ ...request({ client_id: clientId, redirect_uri: HERE }) })
        const headers = { 'x-forwarded-for': address }
        return (await fetchNow(`${running.issuer}/authorization?${query.toString()}`, { headers, redirect: 'manual' }))
          .status
      }
      const flood = Array.from({ length: 120 }, (_, i) => ask(`https://slow.test/${i}`, addressOf(i)))
      const same = Array.from({ length: 10 }, (_, i) => ask('https://good.test/same', `100.64.0.${i}`))
      await until(() => open, atLeast(8))
      const honest = []
      for (let i = 0; i < 10; i++) honest.push(await ask(`https://good.test/${i}`, `203.0.113.${i}`))
      assert.deepEqual(honest, Array(10).fill(200))
      assert.deepEqual(await Promise.all(same), Array(10).fill(200))
      assertIs(most, atMost(16), `${most} at once`)
      const end = setInterval(() => running.clock.advance(1_000), 5)
      await Promise.all(flood)
      clearInterval(end)
    }
  })

  it('is fetched from the next address of its host where one refuses the connection', async () => {
    const addresses = ['127.0.0.9', '127.0.0.8', '127.0.0.1'].map((address) => ({ address, family: 4 }))
    const fetch = publicFetch({ lookUp: () => Promise.resolve(addresses), isPublic: () => true, ca: CERT })
    const running = await started({ fetch })
    assert.equal((await running.ask(publish('/client.json'))).status, 200)
  })

  it('is refused where accept() refuses it, and is no app where none may register', async () => {
    const running = await started({ accept: ({ client_id: id }) => !id?.startsWith(origin) && {} })
    assert.equal((await running.ask(publish('/client.json'))).status, 400)
    const closed = await startServer()
    const asked = request({ client_id: publish('/client.json') })
    const page = await new UserAgent(closed.issuer).authorize(closed.issuer, asked)
    assert.equal(page.status, 400)
    const metadata = await json(await fetch(`${closed.issuer}/.well-known/openid-configuration`))
    assert.equal('client_id_metadata_document_supported' in metadata, false)
  })

  it('leads to no inner host: by name, by address, or by one of several addresses', async () => {
    const init = { headers: {}, redirect: 'manual' as const, signal: new AbortController().signal }
    for (const inner of [
      ...['localhost', '127.0.0.1', '10.0.0.1', '[::1]', '169.254.169.254', '[::ffff:127.0.0.1]'],
      ...['db', 'metadata.google.internal', 'nas.local'],
    ]) {
      const fetched = fetchDocument(`https://${inner}:1/x`, '192.0.2.1', systemClock)
      await assert.rejects(
        fetched,
        ({ message }: Error) => message.includes('has addresses that are not public'),
        inner,
      )
    }
    const lookUp = () => Promise.resolve([{ address: '93.184.216.34', family: 4 }, ...LOCAL])
    const mixed = publicFetch({ lookUp, isPublic: isPublicAddress })
    await assert.rejects(mixed('https://editor.test/x', init), /not public/)
    await assert.rejects(
      publicFetch({ lookUp: () => Promise.resolve([]), isPublic: () => true })('https://a.test/', init),
    )
  })
})

describe('lookUpPublic()', () => {
  it('asks the DNS servers themselves, and gives up where they do not answer', async (t) => {
    const silent = createSocket('udp4')
    t.after(() => silent.close())
    let asked = 0
    silent.on('message', () => asked++)
    await once(silent.bind(0, '127.0.0.1'), 'listening')
    const servers = [`127.0.0.1:${silent.address().port}`]
    await assert.rejects(lookUpPublic('stranger.test', servers), /stranger\.test has no address/)
    assertIs(asked, atLeast(2), 'IPv4 and IPv6')
    assert.deepEqual(await lookUpPublic('192.0.2.7', servers), [{ address: '192.0.2.7', family: 4 }])
    await assert.rejects(lookUpPublic('app.internal', servers), /not public/)
  })
})

describe('isPublicAddress()', () => {
  it('tells public addresses from those of private, local, shared, reserved and translated networks', () => {
    const addresses = '93.184.216.34 8.8.8.8 172.32.0.1 192.167.0.1 2606:4700::1 2a00:1450:4001::1 100.128.0.1'
    for (const address of addresses.split(' ')) assert.ok(isPublicAddress(address), address)
    for (const range of [
      '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.2 169.254.169.254 172.16.0.1 172.31.255.255 192.168.0.1 192.0.0.1',
      '192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255',
      ':: ::1 ::ffff:8.8.8.8 ::ffff:10.0.0.1 64:ff9b::a00:1 fc00::1 fd12::1 fe80::1 ff02::1 2001:db8::1 2001::1',
      '2002:a00:1:: fec0::1 100::1 localhost 1.2.3 010.0.0.1',
    ])
      for (const address of ['', ...range.split(' ')]) assert.equal(isPublicAddress(address), false, address)
  })
})

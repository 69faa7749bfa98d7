import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ServerResponse, createServer as createProxy } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import { SignJWT } from 'jose'
import { ProxyAgent, fetch as fetchVia } from 'undici'
import { requireBearer } from '../../../lib'
import { says } from '../../support/help-link'
import { serveIssuer } from '../../support/issuer'
import { generateKeys } from '../../support/generate-keys'
import { serve } from '../../support/serve'
import { CERT, KEY } from '../../support/tls'
import { a, api } from '../remote-issuer'

const OPENID = '/.well-known/openid-configuration'
const OAUTH = '/.well-known/oauth-authorization-server'

/** An issuer below `path`, whose metadata are at one address only; at all others it answers as told. */
async function issuerWith(path: string, address: string | undefined, otherwise: (res: ServerResponse) => void) {
  const { state, issuer: origin, token } = await serveIssuer(a)
  const issuer = origin + path
  state.instead = (req, res) => {
    if (req.url === '/keys') return false
    if (req.url === address) res.end(JSON.stringify({ issuer, jwks_uri: `${origin}/keys` }))
    else otherwise(res)
    return true
  }
  const { ask, bearer } = await api({ issuer })
  return { issuer, origin, state, bearer, ask: () => ask(token(a, { iss: issuer })) }
}

describe('requireBearer() finds an issuer by its metadata', () => {
  const addresses = [`/t/x${OPENID}`, `${OAUTH}/t/x`, `${OPENID}/t/x`, `/t/x${OAUTH}`]

  it('tries the issuer’s path before and behind the well-known one (OpenID Connect Discovery §4, RFC 8414 §3)', async () => {
    for (const [i, address] of addresses.entries()) {
      const { ask, state } = await issuerWith('/t/x', address, (res) => res.writeHead(404).end())
      assert.equal((await ask()).status, 200, address)
      assert.deepEqual(state.fetches, [...addresses.slice(0, i + 1), '/keys'])
    }
    for (const path of ['', '/']) {
      const { ask, state } = await issuerWith(path, OAUTH, (res) => res.writeHead(404).end())
      assert.equal((await ask()).status, 200)
      assert.deepEqual(state.fetches, [OPENID, OAUTH, '/keys'])
    }
  })

  const status = (code: number) => (res: ServerResponse) => void res.writeHead(code, { location: '/login' }).end()
  const statuses = [301, 302, 400, 401, 403, 404, 405, 406, 410, 429]
  const elsewhere: readonly [string, (res: ServerResponse) => void][] = [
    ...statuses.map((code): [string, (res: ServerResponse) => void] => [String(code), status(code)]),
    ['a page', (res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>')],
    ['nothing', (res) => res.end()],
    ['no object', (res) => res.end('"not found"')],
    ['no metadata', (res) => res.end('{"error":"not_found"}')],
    ['metadata of another', (res) => res.end('{"issuer":"https://other.test","jwks_uri":"https://other.test/keys"}')],
  ]
  for (const [title, otherwise] of elsewhere) {
    it(`finds the metadata if the other addresses answer ${title}`, async () => {
      for (const address of addresses) {
        assert.equal((await (await issuerWith('/t/x', address, otherwise)).ask()).status, 200, address)
      }
    })
  }

  it('tries no further address if the server fails or does not answer', async () => {
    for (const otherwise of [
      (res: ServerResponse) => res.writeHead(500).end(),
      (res: ServerResponse) => res.writeHead(503).end(),
      (res: ServerResponse) => res.destroy(),
    ]) {
      const { ask, state } = await issuerWith('/t/x', addresses[1], otherwise)
      assert.equal((await ask()).status, 503)
      assert.deepEqual(state.fetches, [addresses[0]])
    }
  })

  it('takes a byte order mark before the JSON', async () => {
    const { state, issuer, token } = await serveIssuer(a)
    const mark = '\ufeff'
    state.instead = (req, res) => {
      const body = req.url === '/keys' ? { keys: [a.jwk] } : { issuer, jwks_uri: `${issuer}/keys` }
      res.end(mark + JSON.stringify(body))
      return true
    }
    assert.equal((await (await api({ issuer })).ask(token())).status, 200)
  })
})

describe('bearer.ready() of an issuer without metadata', () => {
  it('names each address and what it answered', async () => {
    const answers = [
      (res: ServerResponse) => res.writeHead(404).end(),
      (res: ServerResponse) => res.end('<html>'),
      (res: ServerResponse) => res.end('{"issuer":"https://other.test"}'),
      (res: ServerResponse) => res.end('{}'),
    ]
    const { bearer, origin, issuer } = await issuerWith('/t', undefined, (res) => answers.shift()?.(res))
    const said = [
      `${origin}/t${OPENID} answered 404`,
      `${origin}${OAUTH}/t answered with something that is not JSON`,
      `${origin}${OPENID}/t names another issuer: 'https://other.test'`,
      `${origin}/t${OAUTH} names no issuer`,
    ]
    const keys = `the keys of the issuer ${issuer} cannot be loaded: ${said.join('; ')}`
    await assert.rejects(bearer.ready(), says(`${keys}: set issuer to the name that its metadata say`))
  })

  it('says in its error what to do', async () => {
    for (const [otherwise, remedy] of [
      [(res: ServerResponse) => res.writeHead(404).end(), /answered 404: correct issuer, or give jwksUri$/],
      [
        (res: ServerResponse) => res.writeHead(403).end(),
        /answered 403: the server or a firewall refuses this machine/,
      ],
    ] as const) {
      await assert.rejects((await issuerWith('', undefined, otherwise)).bearer.ready(), says(remedy))
    }
    const { state, issuer } = await serveIssuer(a)
    const without = /the metadata of .* have no https jwks_uri.*: give jwksUri, or for opaque tokens introspection$/
    for (const jwks_uri of [undefined, 'http://evil.test/keys']) {
      state.metadata = { jwks_uri }
      await assert.rejects((await api({ issuer })).bearer.ready(), says(without))
    }
  })
})

/** A name that only the proxy resolves. */
const issuer = 'https://sso.editor.test'
const audience = 'https://api.acme.example'
const CREDENTIALS = `Basic ${Buffer.from('api:proxy-password').toString('base64')}`
const { publicKey, privateKey } = generateKeys('ec')

describe('requireBearer({ fetch }) through a proxy, with the ProxyAgent of undici', () => {
  const asked: string[] = []
  const proxy = createProxy()
  let sso: ReturnType<typeof createHttps>
  before(async () => {
    sso = createHttps({ key: KEY, cert: CERT }, documents()).listen(0, '127.0.0.1')
    await once(sso, 'listening')
    proxy.on('connect', (req, socket, head: Buffer) => {
      asked.push(String(req.url))
      if (req.headers['proxy-authorization'] !== CREDENTIALS) {
        return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
      }
      const upstream = connect((sso.address() as AddressInfo).port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        upstream.write(head)
        upstream.pipe(socket).pipe(upstream)
      })
      for (const end of [upstream, socket]) end.on('error', () => [upstream, socket].forEach((one) => one.destroy()))
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
  })
  after(() => {
    sso.close().closeAllConnections()
    proxy.close().closeAllConnections()
  })

  /** What the issuer serves: metadata and a JWK Set. */
  function documents(): express.Express {
    const app = express()
    app.get('/.well-known/openid-configuration', (_req, res) => void res.json({ issuer, jwks_uri: `${issuer}/jwks` }))
    app.get('/jwks', (_req, res) => void res.json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] }))
    return app
  }

  /** Asks an API behind the proxy; `token` are its credentials there. */
  async function ask(bearer: string, token = CREDENTIALS) {
    const { port } = proxy.address() as AddressInfo
    const dispatcher = new ProxyAgent({ uri: `http://127.0.0.1:${port}`, token, requestTls: { ca: CERT } })
    after(() => dispatcher.destroy())
    const check = requireBearer({
      ...{ issuer, audience },
      fetch: (url, init) => fetchVia(url, { ...init, dispatcher }),
      warnings: false,
    })
    const app = express().use(check, (req, res) => void res.send(req.auth?.sub))
    const { url } = await serve(app)
    asked.length = 0
    const response = await fetch(url, { headers: { authorization: `Bearer ${bearer}` } })
    return { check, outcome: response.ok ? await response.text() : response.status }
  }
  const signed = () =>
    new SignJWT({ client_id: 'c' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject('ada')
      .setExpirationTime('1h')
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .sign(privateKey)

  it('fetches metadata and keys', async () => {
    assert.equal((await ask(await signed())).outcome, 'ada')
    assert.deepEqual([...new Set(asked)], ['sso.editor.test:443'])
  })

  it('answers 503 where the proxy refuses, and says so without its password', async () => {
    const { check, outcome } = await ask(await signed(), 'Basic d3Jvbmc=')
    assert.equal(outcome, 503)
    await assert.rejects(check.ready(), ({ message }: Error) => {
      assert.match(message, /could not be fetched .*: correct the credentials for the proxy/)
      assert.doesNotMatch(message, /d3Jvbmc/)
      return true
    })
  })
})

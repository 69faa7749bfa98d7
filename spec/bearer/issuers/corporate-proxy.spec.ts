import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createProxy } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { once } from 'node:events'
import express from 'express'
import { SignJWT } from 'jose'
import { ProxyAgent, fetch as fetchVia } from 'undici'
import { type BearerOptions, requireBearer } from '../../../lib'
import { generateKeys } from '../../support/generate-keys'
import { serve } from '../../support/serve'

/** A name that only the proxy resolves. */
const issuer = 'https://sso.acme.invalid'
const audience = 'https://api.acme.example'
const CREDENTIALS = `Basic ${Buffer.from('api:proxy-password').toString('base64')}`
const { publicKey, privateKey } = generateKeys('ec')

describe('requireBearer({ fetch }) through a proxy, with the ProxyAgent of undici', () => {
  const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-proxy-'))
  const file = (name: string) => readFileSync(join(folder, name))
  const asked: string[] = []
  const proxy = createProxy()
  let sso: ReturnType<typeof createHttps>
  before(async () => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', 'key.pem']
    const named = ['-subj', '/CN=sso.acme.invalid', '-addext', 'subjectAltName=DNS:sso.acme.invalid']
    execFileSync('openssl', ['req', '-x509', ...key, '-out', 'cert.pem', ...named], { cwd: folder, stdio: 'pipe' })
    sso = createHttps({ key: file('key.pem'), cert: file('cert.pem') }, documents()).listen(0, '127.0.0.1')
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
    rmSync(folder, { recursive: true })
  })

  /** What the issuer serves: metadata, a JWK Set and introspection. */
  function documents(): express.Express {
    const app = express().use(express.urlencoded({ extended: false }))
    app.get('/.well-known/openid-configuration', (_req, res) => void res.json({ issuer, jwks_uri: `${issuer}/jwks` }))
    app.get('/jwks', (_req, res) => void res.json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] }))
    app.post('/introspect', (req, res) => {
      const { token } = req.body as { token: string }
      res.json({ active: token === 'opaque', sub: 'bob', aud: audience, client_id: 'c' })
    })
    return app
  }

  /** Asks an API behind the proxy; `token` are its credentials there. */
  async function ask(bearer: string, more: Partial<BearerOptions> = {}, token = CREDENTIALS) {
    const { port } = proxy.address() as AddressInfo
    const dispatcher = new ProxyAgent({ uri: `http://127.0.0.1:${port}`, token, requestTls: { ca: file('cert.pem') } })
    after(() => dispatcher.destroy())
    const check = requireBearer({
      ...({ issuer, audience, ...more } as BearerOptions),
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
    assert.deepEqual([...new Set(asked)], ['sso.acme.invalid:443'])
  })

  it('fetches keys from jwksUri', async () => {
    assert.equal((await ask(await signed(), { jwksUri: `${issuer}/jwks` })).outcome, 'ada')
  })

  it('posts to the introspection endpoint', async () => {
    const introspection = { endpoint: `${issuer}/introspect`, clientId: 'api', clientSecret: 's' }
    assert.equal((await ask('opaque', { introspection })).outcome, 'bob')
    assert.equal((await ask('guess', { introspection })).outcome, 401)
  })

  it('answers 503 where the proxy refuses, and says so without its password', async () => {
    const { check, outcome } = await ask(await signed(), {}, 'Basic d3Jvbmc=')
    assert.equal(outcome, 503)
    await assert.rejects(check.ready(), ({ message }: Error) => {
      assert.match(message, /could not be fetched .*: correct the credentials for the proxy/)
      assert.doesNotMatch(message, /d3Jvbmc/)
      return true
    })
  })
})

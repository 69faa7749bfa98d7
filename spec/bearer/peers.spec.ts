// What users of other bearer checks suffer from, one `it` for each kind; what each comes to in depth is in the specs
// beside this one.
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { type KeyMaterial, requireBearer, sessionOf } from '../../lib'
import { devIssuer, manualClock } from '../../lib/testing'
import { keyPair, serveIssuer } from '../support/issuer'
import { serve } from '../support/serve'

const issuer = 'https://as.test'
const audience = 'api'
const pair = keyPair('k')
const key = pair.jwk as unknown as KeyMaterial
const claims = { iss: issuer, aud: audience, sub: 'ada', exp: 4_102_444_800, jti: 'j' }

async function asking(options: object = {}) {
  const app = express().use(requireBearer({ issuer, audience, key, ...options }))
  const { url, raw } = await serve(
    app.use((req, res) => void res.json(req.auth)),
    { maxHeaderSize: 4_000_000 },
  )
  const ask = (token: string, method = 'GET') => fetch(url, { method, headers: { authorization: `Bearer ${token}` } })
  return { ask, raw, url, status: async (token: string) => (await ask(token)).status }
}

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** A token of any header and payload, signed all the same. */
function signed(payload: unknown, header: object = {}): string {
  const input = `${encode({ alg: 'ES256', kid: 'k', ...header })}.${encode(payload)}`
  const signature = signBytes('sha256', Buffer.from(input), { key: pair.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

describe('requireBearer() and what its peers’ users suffer from', () => {
  it('1: every 401, 400 and 403 has a well-formed challenge, the right one, and echoes nothing', async () => {
    const { ask, raw, url } = await asking({ scope: 'read' })
    const good = signed(claims)
    const two = await raw(
      `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${good}\r\nAuthorization: Bearer b\r\n\r\n`,
    )
    assert.match(two, /^HTTP\/1.1 400 [^]*\r\nWWW-Authenticate: Bearer error="invalid_request"/)
    for (const [answer, status, error] of [
      [await fetch(url), 401, undefined],
      [await ask('se"cret'), 400, 'invalid_request'],
      [await ask('secret'), 401, 'invalid_token'],
      [await ask(good), 403, 'insufficient_scope'],
    ] as const) {
      assert.equal(answer.status, status)
      const field = answer.headers.get('www-authenticate') ?? ''
      assert.match(field, /^Bearer(?: [a-z_]+="[^"\\]*"(?:, [a-z_]+="[^"\\]*")*)?$/)
      assert.equal(/error="([^"]*)"/.exec(field)?.[1], error)
      const all = field + (await answer.text())
      for (const part of ['secret', good, ...good.split('.')]) assert.ok(!all.includes(part))
    }
  })

  it('2: an issuer’s outage is no bad token, and is not asked about for every request', async () => {
    const served = await serveIssuer(pair)
    served.state.down = true
    const clock = manualClock(Date.now()) // it stands still
    const { status } = await asking({ issuer: served.issuer, key: undefined, clock })
    for (let i = 0; i < 20; i++) assert.equal(await status(served.token()), 503)
    assert.ok(served.state.fetches.length <= 2, String(served.state.fetches))
  })

  it('3: a token known from before is checked anew, and nobody’s claims can be changed for the next', async () => {
    const app = express().use(requireBearer({ issuer, audience, key }))
    app.use((req, res) => {
      assert.throws(() => ((sessionOf(req).claims as { role?: string }).role = 'admin'), TypeError)
      assert.throws(() => (sessionOf(req).claims.list as string[]).push('x'), TypeError)
      res.json(sessionOf(req).claims)
    })
    const { url } = await serve(app)
    const payload = { ...claims, list: ['a'] }
    const headers = { authorization: `Bearer ${signed(payload)}` }
    for (let i = 0; i < 2; i++) assert.deepEqual(await (await fetch(url, { headers })).json(), payload)
  })

  it('4: what jsonwebtoken lets pass does not pass', async () => {
    for (const options of [
      { clockToleranceSec: '5' },
      { audience: '' },
      { issuer: /as/ },
      { secret: 'x', key: undefined },
      { algorithms: 'ES256' },
    ]) {
      await assert.rejects(asking(options), (err) => err instanceof TypeError || err instanceof RangeError)
    }
    const { status } = await asking()
    const { exp, ...endless } = claims
    for (const [payload, header] of [
      [claims, { crit: ['b64'] }],
      [claims, { b64: false }],
      [endless, {}],
      [JSON.stringify(claims).replace(String(exp), '1e999'), {}],
      ['"a text"', {}],
      ['not JSON', {}],
      ['[]', {}],
    ] as const) {
      assert.equal(await status(signed(payload, header)), 401)
    }
    const ed = generateKeyPairSync('ed25519')
    const eddsa = `${encode({ alg: 'EdDSA' })}.${encode(claims)}`
    const signature = signBytes(null, Buffer.from(eddsa), ed.privateKey).toString('base64url')
    assert.equal(await (await asking({ key: ed.publicKey })).status(`${eddsa}.${signature}`), 200)
  })

  it('5: another spelling of a revoked token is revoked', async () => {
    const revoked = {
      state: (session: { claims: { jti?: unknown } }) => (session.claims.jti === 'j' ? 'revoked' : 'valid'),
    }
    const [open, closed] = [await asking(), await asking({ revocation: revoked })]
    const token = signed(claims)
    const [header = '', payload = '', signature = ''] = token.split('.')
    // An ECDSA signature (r, s) holds as (r, n - s) too.
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const bytes = Buffer.from(signature, 'base64url')
    const s = n - BigInt(`0x${bytes.subarray(32).toString('hex')}`)
    const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')])
    const twin = `${header}.${payload}.${other.toString('base64url')}`
    assert.notEqual(twin, token)
    assert.deepEqual([await open.status(token), await open.status(twin)], [200, 200])
    assert.deepEqual([await closed.status(token), await closed.status(twin)], [401, 401])
    assert.equal(await closed.status(signed({ ...claims, jti: 'other' })), 200)
    // Base64url has one spelling only: bits that mean nothing must be nought.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.charAt(alphabet.indexOf(token.slice(-1)) + 1)
    for (const spelling of [token.slice(0, -1) + last, `${token}=`, `${token}.`]) {
      assert.equal(await open.status(spelling), 401)
    }
  })

  it('6: no header chooses how it is checked, and no other kind of token passes for an access token', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const pem = publicKey.export({ type: 'spki', format: 'pem' })
    const confused = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
    const mac = createHmac('sha256', pem).update(confused).digest('base64url')
    assert.equal(await (await asking({ key: pem })).status(`${confused}.${mac}`), 401)
    const { status } = await asking()
    for (const alg of ['none', 'None', 'nOnE', '']) {
      assert.equal(await status(`${encode({ alg })}.${encode(claims)}.`), 401)
      assert.equal(await status(`${encode({ alg })}.${encode(claims)}.AAAA`), 401)
    }
    const other = keyPair('k')
    const theirs = (header: object) =>
      sign(claims, other.privateKey, { algorithm: 'ES256', header: { alg: 'ES256', ...header } })
    for (const header of [
      { jwk: other.jwk },
      { jku: 'https://evil.test/keys' },
      { x5u: 'https://evil.test/cert' },
      { kid: '../../../dev/null' },
      { kid: "' OR 1=1 --" },
    ]) {
      assert.equal(await status(theirs(header as object)), 401, JSON.stringify(header))
    }
    assert.equal(await status('e30.AA.AA.AA.AA'), 401) // a JWE
    for (const typ of ['dpop+jwt', 'id_token', 'logout+jwt', 'JWE'])
      assert.equal(await status(signed(claims, { typ })), 401)
    for (const wrong of [
      { iss: [issuer] },
      { aud: ['ap', 'i'] },
      { aud: [['api']] },
      { aud: 7 },
      { sub: 7 },
      { sub: ['ada'] },
      { sub: '' },
      { sub: 'a'.repeat(3_000) },
      { at_hash: 'x' },
    ]) {
      assert.equal(await status(signed({ ...claims, ...wrong })), 401, JSON.stringify(wrong).slice(0, 40))
    }
    const dev = devIssuer()
    const own = await asking(dev.options)
    for (const attack of ['unsigned', 'key-as-secret', 'embedded-key', 'member-twice'] as const) {
      assert.equal(await own.status(dev.attack(attack)), 401, attack)
    }
  })

  it('7: nothing of a request is cheap to send and dear to refuse, and no claim is inherited', async () => {
    const { ask, status } = await asking()
    const cpuMs = async (token: string) => {
      const before = process.cpuUsage()
      for (let i = 0; i < 20; i++) assert.equal(await status(token), 401)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000 / 20
    }
    const each = await cpuMs('.'.repeat(1_000_000))
    const usual = await cpuMs('a'.repeat(1_000_000)) // as long on the way, and no dots
    assert.ok(each < 3 * usual + 20, `${each} ms, ${usual} ms without dots`)
    const text = JSON.stringify({ ...claims, x: 1 }).replace('"x":1', '"__proto__":{"role":"admin"}')
    assert.equal(await status(signed(text)), 401)
    const session = (await (await ask(signed(claims))).json()) as { claims: object }
    assert.ok(!('role' in session.claims))
  })

  it('8: a bad token is refused by every method, and where none is needed', async () => {
    const { ask } = await asking({ optional: true })
    for (const method of ['OPTIONS', 'GET', 'HEAD', 'POST']) {
      assert.equal((await ask('bad', method)).status, 401, method)
      assert.equal((await ask(signed({ ...claims, exp: 1 }), method)).status, 401, method)
    }
  })
})

import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import { SignJWT, calculateJwkThumbprint, type JWK } from 'jose'
import { type BearerOptions, type DpopOptions, requireBearer, sessionOf } from '../../../lib/index'
import { thumbprint } from '../../../lib/bearer/dpop/thumbprint'
import { devIssuer, manualClock } from '../../../lib/testing/index'
import { serve } from '../../support/serve'
import { generateKeys } from '../../support/generate-keys'
import { warned } from '../../support/heard'

const NOW = 1_800_000_000
const clock = manualClock(NOW * 1_000)
const dev = devIssuer({ date: () => clock.date() })
const { privateKey, publicKey } = generateKeys('ec')
const jwk = publicKey.export({ format: 'jwk' }) as JWK
const jkt = thumbprint(publicKey)
const bound = dev.token('ada', { claims: { cnf: { jkt } } })

type Dpop = Omit<DpopOptions, 'proofs'> & { readonly proofs?: { note(...args: unknown[]): unknown } | undefined }

async function api(dpop: DpopOptions | Dpop | boolean = true, trust = false) {
  const options = { ...dev.options, clock, dpop } as unknown as BearerOptions
  const app = express().set('trust proxy', trust)
  app.use(requireBearer(options), (req, res) => void res.send(sessionOf(req).sub))
  const { url, raw } = await serve(app)
  const uri = `${url}/tree`
  const proof = async (claims: object = {}, header: object = {}, key = privateKey) => {
    const ath = hash('sha256', bound, 'base64url')
    return new SignJWT({ jti: randomUUID(), htm: 'GET', htu: uri, iat: NOW, ath, ...claims })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header })
      .sign(key)
  }
  const ask = (proof?: string, token = bound, scheme = 'DPoP', path = '/tree?x=1') => {
    const headers: Record<string, string> = { authorization: `${scheme} ${token}` }
    if (proof !== undefined) headers.dpop = proof
    return fetch(url + path, { headers })
  }
  return { ask, proof, uri, url, raw }
}

describe('requireBearer({ dpop }) (RFC 9449)', () => {
  it('warns at startup if origin is missing', async () => {
    const said = warned({ after })
    requireBearer({ ...dev.options, dpop: { origin: 'https://api.example.org' } })
    await setImmediate()
    assert.deepEqual(said, [])
    requireBearer({ ...dev.options, dpop: true })
    await setImmediate()
    assert.match(said.join(), /^requireBearer\(\{ dpop \}\) has no origin, .* set dpop: \{ origin: /)
  })

  it('takes a bound token with its proof (§7.1)', async () => {
    const { ask, proof } = await api()
    const answer = await ask(await proof())
    assert.deepEqual([answer.status, await answer.text()], [200, 'ada'])
    assert.equal((await ask(await proof(), bound, 'dpop')).status, 200)
  })

  it('compares htu with the address that the client asked for, behind a proxy too (RFC 3986 §6.2.2)', async () => {
    const proxied = (host: string) => `Host: inside.test\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: ${host}`
    const base = 'https://api.test/svc1' // whose path a proxy has stripped
    const several = ['https://api.test', 'https://api.test:8443', 'https://inside.test', 'http://api.test']
    for (const [origin, trust, host, path, htu, status] of [
      [base, true, proxied('api.test'), '/things?x=1', `${base}/things`, 200],
      [[base, 'https://other.test'], true, proxied('api.test'), '/things?x=1', `${base}/things`, 200],
      [[base, 'https://other.test'], true, proxied('api.test'), '/things', 'https://other.test/svc1/things', 401],
      [base, true, proxied('api.test'), '/things', 'https://api.test/things', 401],
      [base, true, proxied('api.test'), '/things', `${base}/other`, 401],
      [several, true, proxied('api.test:8443, inner.test'), '/tree', 'https://api.test:8443/tree', 200],
      [several, true, proxied('API.test:443'), '/tree', 'https://api.test/tree', 200],
      [several, true, proxied(''), '/tree', 'https://inside.test/tree', 200],
      [several, true, proxied('evil.test'), '/tree', 'https://evil.test/tree', 401],
      [several, false, proxied('api.test'), '/tree', 'http://api.test/tree', 401],
      [several, false, 'Host: API.test', '/tree', 'http://api.test/tree', 200],
      [several, false, 'Host: api.test', '/tree', 'https://api.test:8443/tree', 401],
      [several, false, 'Host: api.test', '/tree', 'http://api.test:8443/tree', 401],
      [several, false, 'Host: evil.test', '/tree', 'http://api.test/tree', 401],
      ['https://api.test', false, 'Host: x', '/a%7eb', 'https://api.test/a~b', 200],
      ['https://api.test', false, 'Host: x', '/a~b', 'https://api.test/a%7Eb', 200],
      ['https://api.test', false, 'Host: x', '/caf%c3%a9', 'https://api.test/caf%C3%A9', 200],
      ['https://api.test', false, 'Host: x', '/%74ree', 'HTTPS://API.test:443/tree', 200],
      ['https://api.test', false, 'Host: x', '/a%2fb', 'https://api.test/a/b', 401],
      ['https://api.test', false, 'Host: x', '/a%252Fb', 'https://api.test/a%2Fb', 401],
      ['https://api.test', false, 'Host: x', '/tree', 'https://api.test/Tree', 401],
      ['https://api.test', false, 'Host: x', '/a%7eb', 'https://api.test/a%257Eb', 401],
      ...['/x/../tree', '/x/%2e%2e/tree', '/x/%2E%2E/tree', '/./tree'].map(
        (dotted) => [undefined, false, 'Host: api.test', dotted, 'http://api.test/tree', 401] as const,
      ),
      [undefined, false, 'Host: api.test', '/tree', 'http://api.test/tree', 200],
    ] as const) {
      const { raw, proof } = await api({ ...(origin && { origin }) }, trust)
      const fields = `${host}\r\nConnection: close\r\nAuthorization: DPoP ${bound}\r\nDPoP: ${await proof({ htu })}`
      const answer = await raw(`GET ${path} HTTP/1.1\r\n${fields}\r\n\r\n`)
      assert.equal(answer.split(' ', 2)[1], String(status), `${host} ${path} ${htu}`)
    }
  })

  it('refuses every proof that is not for this request, this token and now (§4.3)', async () => {
    const { ask, proof, uri } = await api()
    const other = generateKeys('ec')
    const privateJwk = privateKey.export({ format: 'jwk' })
    const bad: [string, string | undefined][] = [
      ['none', undefined],
      ['empty', ''],
      ['no JWT', 'abc'],
      ['no jti', await proof({ jti: undefined })],
      ['jti no text', await proof({ jti: 7 })],
      ['another method', await proof({ htm: 'POST' })],
      ['the method in small letters', await proof({ htm: 'get' })],
      ['another path', await proof({ htu: `${uri}/x` })],
      ['a path with dot segments', await proof({ htu: uri.replace('/tree', '/x/../tree') })],
      ['another host', await proof({ htu: 'https://api.test/tree' })],
      ['no URI', await proof({ htu: '/tree' })],
      ['made too long ago', await proof({ iat: NOW - 61 })],
      ['made in the future', await proof({ iat: NOW + 6 })],
      ['without a date', await proof({ iat: undefined })],
      ['for another token', await proof({ ath: hash('sha256', 'other', 'base64url') })],
      ['for no token', await proof({ ath: undefined })],
      ['of another type', await proof({}, { typ: 'JWT' })],
      ['without a key', await proof({}, { jwk: undefined })],
      ['with a private key', await proof({}, { jwk: privateJwk })],
      ['signed with another key', await proof({}, {}, other.privateKey)],
      ['two in one', `${await proof()}, ${await proof()}`],
    ]
    for (const [title, text] of bad) {
      const answer = await ask(text)
      assert.equal(answer.status, 401, title)
      const field = answer.headers.get('www-authenticate') ?? ''
      assert.match(
        field,
        /^DPoP error="invalid_dpop_proof", error_description="[^"]+", algs="RS256 [^"]+Ed448"$/,
        title,
      )
    }
    for (const claims of [{ iat: NOW - 60 }, { iat: NOW + 5 }, { htu: `${uri}?y#z` }]) {
      assert.equal((await ask(await proof(claims))).status, 200)
    }
  })

  it('refuses a proof it has seen, and forgets it when it could no longer be used (§11.1)', async () => {
    const { ask, proof } = await api()
    const once = await proof({ jti: 'once' })
    assert.deepEqual([(await ask(once)).status, (await ask(once)).status], [200, 401])
    assert.equal((await ask(await proof({ jti: 'once' }))).status, 401)
    clock.advance(60_000) // the last second in which it would be taken for the first time
    assert.equal((await ask(once)).status, 401)
    clock.advance(1_000)
    assert.equal((await ask(await proof({ jti: 'once', iat: NOW + 61 }))).status, 200)
    clock.setDate(NOW * 1_000)
  })

  describe('with a memory for few proofs', () => {
    const users = Array.from({ length: 3 }, (_, i) => {
      const keys = generateKeys('ed25519')
      const token = dev.token(`user-${i}`, { claims: { cnf: { jkt: thumbprint(keys.publicKey) } } })
      const header = { alg: 'EdDSA', jwk: keys.publicKey.export({ format: 'jwk' }) }
      return { token, header, key: keys.privateKey, claims: { ath: hash('sha256', token, 'base64url') } }
    })
    const api3 = async (options: DpopOptions) => {
      const { ask, proof } = await api(options)
      return async (user: number, claims: object = {}) => {
        const { token, header, key, claims: own } = users[user] as (typeof users)[0]
        return ask(await proof({ ...own, ...claims }, header, key), token)
      }
    }

    it('answers 503 to a user who has used up a hundredth, and to no other', async () => {
      const ask = await api3({ maxProofs: 200 })
      assert.deepEqual([(await ask(0)).status, (await ask(0)).status], [200, 200])
      const answer = await ask(0)
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '60'])
      assert.equal((await ask(1)).status, 200)
      clock.advance(61_000)
      assert.equal((await ask(0, { iat: NOW + 61 })).status, 200)
      clock.setDate(NOW * 1_000)
    })

    it('counts all keys and tokens of a user together, and of an app without a user those of a block', async () => {
      const sent = async (claims: object) => {
        const keys = generateKeys('ed25519')
        const token = dev.token('eve', { claims: { ...claims, cnf: { jkt: thumbprint(keys.publicKey) } } })
        const header = { alg: 'EdDSA', jwk: keys.publicKey.export({ format: 'jwk' }) }
        return ask(await proof({ ath: hash('sha256', token, 'base64url') }, header, keys.privateKey), token)
      }
      const { ask, proof } = await api({ maxProofs: 100 })
      for (const claims of [{}, { sub: 'worker', client_id: 'worker' }]) {
        assert.deepEqual([(await sent(claims)).status, (await sent(claims)).status], [200, 503])
      }
      assert.equal((await ask(await proof())).status, 200)
    })

    it('forgets the oldest proof of the user with the most where users have filled it, and lets the next one in', async () => {
      const ask = await api3({ maxProofs: 2 })
      const jti = 'once'
      assert.deepEqual([(await ask(0, { jti })).status, (await ask(1, { jti })).status], [200, 200])
      assert.deepEqual([(await ask(2, { jti })).status, (await ask(2, { jti })).status], [200, 401])
    })

    it('gives no room to the proof of a request that is refused', async () => {
      const { ask, proof } = await api({ maxProofs: 100 })
      const revoked = dev.token('ada', { claims: { cnf: { jkt }, session_kind: 'robot' } })
      const other = dev.token('ada', { claims: { cnf: { jkt: 'x' } } })
      for (const token of [revoked, other, dev.attack('expired')]) {
        const ath = hash('sha256', token, 'base64url')
        assert.equal((await ask(await proof({ ath }), token)).status, 401)
      }
      assert.equal((await ask(await proof())).status, 200)
    })
  })

  it('never takes a bound token as plain bearer, nor with another key’s proof, nor an unbound one with a proof', async () => {
    const { ask, proof } = await api()
    const withProof = await ask(await proof(), bound, 'Bearer')
    assert.equal(withProof.status, 401)
    assert.match(withProof.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/)
    const other = generateKeys('ed25519')
    const theirs = await proof({}, { alg: 'EdDSA', jwk: other.publicKey.export({ format: 'jwk' }) }, other.privateKey)
    assert.match((await ask(theirs)).headers.get('www-authenticate') ?? '', /^DPoP error="invalid_token"/)
    for (const cnf of [undefined, {}, { jkt: 7 }, { 'x5t#S256': 'x' }, { jkt, 'x5t#S256': 'x' }, jkt]) {
      const token = dev.token('ada', { claims: { cnf } })
      const ath = hash('sha256', token, 'base64url')
      assert.equal((await ask(await proof({ ath }), token)).status, 401, JSON.stringify(cnf))
    }
  })

  it('counts members of cnf that are null as absent', async () => {
    const { ask, proof } = await api()
    for (const cnf of [{ jkt, 'x5t#S256': null }, { jwk: null, jkt, kid: null }, { jkt: null }]) {
      const token = dev.token('ada', { claims: { cnf } })
      const ath = hash('sha256', token, 'base64url')
      assert.equal((await ask(await proof({ ath }), token)).status, cnf.jkt === null ? 401 : 200, JSON.stringify(cnf))
      assert.equal((await ask(undefined, token, 'Bearer')).status, 401)
    }
  })

  it('takes plain bearer tokens too, unless required', async () => {
    const plain = dev.token('ada')
    const { ask } = await api()
    assert.equal((await ask(undefined, plain, 'Bearer')).status, 200)
    const strict = await api({ required: true })
    const answer = await strict.ask(undefined, plain, 'Bearer')
    assert.equal(answer.status, 401)
    assert.match(answer.headers.get('www-authenticate') ?? '', /^DPoP error="invalid_token"/)
    assert.equal((await strict.ask(await strict.proof())).status, 200)
  })

  it('names the scheme of the request in the challenge, whatever is wrong', async () => {
    const [lax, strict] = [await api(), await api({ required: true })]
    const scheme = async (answer: Promise<Response>) => (await answer).headers.get('www-authenticate')?.split(' ', 1)[0]
    const expired = dev.attack('expired')
    assert.equal(await scheme(lax.ask(await lax.proof(), expired)), 'DPoP')
    assert.equal(await scheme(lax.ask(undefined, expired, 'Bearer')), 'Bearer')
    assert.equal(await scheme(strict.ask(undefined, expired, 'Bearer')), 'DPoP')
  })

  it('names both schemes in the challenge to a request without a token', async () => {
    const [lax, strict] = [await api(), await api({ required: true })]
    assert.match((await fetch(lax.url)).headers.get('www-authenticate') ?? '', /^Bearer, DPoP algs="[A-Za-z0-9 ]+"$/)
    assert.match((await fetch(strict.url)).headers.get('www-authenticate') ?? '', /^DPoP algs="[A-Za-z0-9 ]+"$/)
  })

  describe('with nonceSecret (§9)', () => {
    const nonceSecret = 'n'.repeat(32)
    const challenge = /^DPoP error="use_dpop_nonce", error_description="[^"]+", algs="RS256 [^"]+Ed448"$/

    it('asks for a nonce of its own, and takes proofs that bear it', async () => {
      const { ask, proof } = await api({ nonceSecret })
      for (const nonce of [undefined, 'mine', '', 7]) {
        const answer = await ask(await proof({ nonce }))
        assert.equal(answer.status, 401)
        assert.match(answer.headers.get('www-authenticate') ?? '', challenge)
        assert.equal(answer.headers.get('cache-control'), 'no-store')
        const given = answer.headers.get('dpop-nonce') ?? ''
        assert.match(given, /^[\w-]{43}$/)
        const good = await ask(await proof({ nonce: given }))
        assert.deepEqual(
          [good.status, good.headers.get('dpop-nonce'), good.headers.get('cache-control')],
          [200, null, null],
        )
      }
    })

    it('issues a new nonce before the old one ends (§8.2)', async () => {
      const { ask, proof } = await api({ nonceSecret })
      const first = (await ask(await proof())).headers.get('dpop-nonce')
      clock.advance(60_000)
      const answer = await ask(await proof({ nonce: first, iat: NOW + 60 }))
      const second = answer.headers.get('dpop-nonce')
      assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'no-store'])
      assert.ok(second && second !== first)
      clock.advance(60_000)
      const late = await ask(await proof({ nonce: first, iat: NOW + 120 }))
      assert.equal(late.status, 401)
      assert.equal((await ask(await proof({ nonce: second, iat: NOW + 120 }))).status, 200)
      clock.setDate(NOW * 1_000)
    })

    it('goes by the nonce whatever the client’s clock says, and remembers the proof as long (§4.3, §11.1)', async () => {
      const { ask, proof } = await api({ nonceSecret })
      for (const iat of [NOW, NOW - 86_400, NOW + 86_400, 0]) {
        const asked = await ask(await proof({ iat }))
        assert.match(asked.headers.get('www-authenticate') ?? '', challenge)
        const nonce = asked.headers.get('dpop-nonce')
        const [used, unused] = [await proof({ iat, nonce }), await proof({ iat, nonce })]
        assert.equal((await ask(used)).status, 200)
        clock.advance(119_000)
        assert.deepEqual([(await ask(used)).status, (await ask(unused)).status], [401, 200], String(iat))
        clock.setDate(NOW * 1_000)
      }
      const nonce = (await ask(await proof())).headers.get('dpop-nonce')
      assert.equal((await ask(await proof({ iat: 'now', nonce }))).status, 401)
    })

    it('makes the same nonces in every process with one secret', async () => {
      const nonceOf = async (secret: string | Uint8Array) => {
        const { ask, proof } = await api({ nonceSecret: secret })
        return (await ask(await proof())).headers.get('dpop-nonce')
      }
      const nonce = await nonceOf(nonceSecret)
      assert.equal(await nonceOf(Buffer.from(nonceSecret)), nonce)
      assert.notEqual(await nonceOf('m'.repeat(32)), nonce)
    })

    it('checks the nonce of valid proofs only, and before the key', async () => {
      const { ask, proof } = await api({ nonceSecret })
      assert.match(
        (await ask(await proof({ htm: 'POST' }))).headers.get('www-authenticate') ?? '',
        /invalid_dpop_proof/,
      )
      const other = generateKeys('ed25519')
      const header = { alg: 'EdDSA', jwk: other.publicKey.export({ format: 'jwk' }) }
      const nonce = (await ask(await proof({}, header, other.privateKey))).headers.get('dpop-nonce')
      assert.ok(nonce)
      const answer = await ask(await proof({ nonce }, header, other.privateKey))
      assert.match(answer.headers.get('www-authenticate') ?? '', /^DPoP error="invalid_token"/)
    })
  })

  describe('with proofs remembered elsewhere', () => {
    it('lets in by the answer ’new’ alone, also of another library’s promise, and answers 503 without one', async () => {
      const soon = (answer: string) => () => ({ then: (done: (answer: string) => void) => done(answer) })
      const throws = () => {
        throw new Error('down')
      }
      for (const [note, status] of [
        [soon('new'), 200],
        [soon('replay'), 401],
        [() => undefined, 503],
        [() => 'OK', 503],
        [() => Promise.resolve(true), 503],
        [() => Promise.reject(new Error('down')), 503],
        [throws, 503],
      ] as const) {
        const { ask, proof } = await api({ proofs: { note } })
        const answer = await ask(await proof())
        assert.deepEqual([answer.status, answer.headers.get('retry-after')], [status, status === 503 ? '1' : null])
      }
    })

    it('notes a proof under one name for as long as it could be used', async () => {
      const noted: unknown[][] = []
      const note = (...args: unknown[]) => (noted.push(args), Promise.resolve('new' as const))
      const { ask, proof } = await api({ proofs: { note }, maxProofAgeSec: 30 })
      assert.equal((await ask(await proof({ jti: 'a', iat: NOW + 5 }))).status, 200)
      assert.equal((await ask(await proof({ jti: 'b' }))).status, 200)
      const name = hash('sha256', `${jkt}:a`, 'base64url')
      assert.deepEqual(noted[0], [name, NOW + 35, NOW, `user ada ${dev.issuer}`])
      assert.notEqual(noted[1]?.[0], name)
    })
  })

  it('refuses every proof if the request has no host', async () => {
    const { raw, proof } = await api()
    for (const htu of ['http:///tree', '/tree']) {
      const fields = `Authorization: DPoP ${bound}\r\nDPoP: ${await proof({ htu })}`
      assert.match(await raw(`GET /tree HTTP/1.0\r\n${fields}\r\n\r\n`), /^HTTP\/1\.1 401 /)
    }
  })

  it('ignores another scheme that has DPoP in its credentials, and the scheme DPoP without the option', async () => {
    for (const [dpop, scheme, challenge] of [
      [true, 'Digest dpop', /^Bearer, DPoP /],
      [false, 'DPoP', /^Bearer$/],
      [false, 'Bearer', /^Bearer error="invalid_token"/],
    ] as const) {
      const { ask, proof } = await api(dpop)
      const answer = await ask(await proof(), bound, scheme)
      assert.equal(answer.status, 401)
      assert.match(answer.headers.get('www-authenticate') ?? '', challenge)
    }
  })
})

describe('thumbprint() (RFC 7638)', () => {
  it('equals another library’s, for every type of key', async () => {
    const keys = [publicKey, generateKeys('rsa').publicKey, generateKeys('ed25519').publicKey]
    for (const key of keys)
      assert.equal(thumbprint(key), await calculateJwkThumbprint(key.export({ format: 'jwk' }) as JWK))
  })
})

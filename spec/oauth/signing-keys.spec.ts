import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { type JSONWebKeySet, createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { Keyring } from '../../lib/oauth/keys/keyring'
import { manualClock } from '../../lib/testing'
import { startChild } from './processes/spawn'
import { AS_WEB, SIGNING_KEY, json, post, startServer } from './support'
import { UserAgent, codeForm, request } from './user-agent'

const NEXT_KEY = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
const HOUR = 3_600_000
const KEYS = {
  RS256: NEXT_KEY,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  EdDSA: generateKeyPairSync('ed25519').privateKey,
}

describe('signing keys', () => {
  it('are next, current and retired by the clock alone, and published while a token may need them (O167)', () => {
    const clock = manualClock()
    const start = clock.date()
    const keys = [
      { key: NEXT_KEY, kid: 'new', activeFrom: start + HOUR },
      { key: SIGNING_KEY, kid: 'old' },
    ]
    const ring = new Keyring(keys, clock, HOUR)
    const kids = () => ring.published().map(({ kid }) => kid)
    assert.equal(ring.current().kid, 'old')
    assert.deepEqual(kids(), ['old', 'new'])
    clock.advance(HOUR)
    assert.equal(ring.current().kid, 'new')
    assert.deepEqual(kids(), ['new', 'old'])
    clock.advance(HOUR)
    assert.deepEqual(kids(), ['new'])
    assert.equal(ring.find('old'), undefined)
  })

  it('are refused at startup where they are wrong, and never shown', () => {
    const clock = manualClock()
    const small = generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
    const publicKey = generateKeyPairSync('ed25519').publicKey
    assert.throws(() => new Keyring([], clock, HOUR), /signingKeys/)
    assert.throws(() => new Keyring([{ key: small }], clock, HOUR), /at least 2048 bits; it has 1024/)
    assert.throws(() => new Keyring([{ key: ec }], clock, HOUR), /RSA, EC P-256 or Ed25519.*ec on secp384r1/)
    assert.throws(() => new Keyring([{ key: publicKey }], clock, HOUR), /received a public key/)
    assert.throws(
      () => new Keyring([{ key: 'hunter2' }], clock, HOUR),
      (err: Error) => !err.message.includes('hunter2'),
    )
    assert.throws(() => new Keyring([{ key: SIGNING_KEY }, { key: SIGNING_KEY }], clock, HOUR), /same kid/)
    assert.throws(
      () => new Keyring([{ key: SIGNING_KEY, activeFrom: clock.date() + 1 }], clock, HOUR),
      /no key is active/,
    )
  })

  it('rotate without a failed request at requireBearer({ issuer }) in another process', async () => {
    const clock = manualClock()
    const old = { key: SIGNING_KEY, kid: 'old' }
    const running = await startServer({ clock, signingKeys: [old] })
    const api = await startChild('resource', { issuer: running.issuer, date: clock.date() })
    const tokens: string[] = []
    const pass = async (ms: number) => {
      clock.advance(ms)
      await fetch(`${api.origin}/advance/${ms}`, { method: 'POST' })
    }
    /** A token issued now, and one issued a while ago. */
    const traffic = async () => {
      tokens.push(
        (await json(await post(`${running.issuer}/token`, { grant_type: 'client_credentials' }, AS_WEB)))
          .access_token as string,
      )
      for (const token of [tokens.at(-1), tokens.at(-6) ?? tokens[0]]) {
        const response = await fetch(api.origin, { headers: { authorization: `Bearer ${token}` } })
        assert.equal(response.status, 200, `${tokens.length}: ${response.headers.get('www-authenticate')}`)
      }
    }
    await traffic()
    running.server.setSigningKeys([old, { key: NEXT_KEY, kid: 'new', activeFrom: clock.date() + HOUR }])
    for (let minutes = 0; minutes < 180; minutes += 5) {
      await pass(5 * 60_000)
      await traffic()
    }
    const kids = tokens.map((token) => decodeProtectedHeader(token).kid)
    assert.deepEqual([...new Set(kids)], ['old', 'new'])
    assert.equal(kids.filter((kid) => kid === 'old').length, 12)
    const { keys } = (await json(await fetch(`${running.issuer}/jwks`))) as { keys: { kid: string }[] }
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      ['new'],
      'the old key is gone when its last token is',
    )
    await api.kill()
    await running.close()
  })

  for (const [alg, key] of Object.entries(KEYS)) {
    const hash = alg === 'EdDSA' ? 'sha512' : 'sha256'

    it(`RFC 7518 §3.1, RFC 8037 §3.1 and OIDC Core §3.1.3.6: ${alg} signs every token, and is published`, async () => {
      const running = await startServer({ signingKeys: [{ key }] })
      const tokens = await json(await post(`${running.issuer}/token`, await codeForm(running.issuer), AS_WEB))
      const [access, id] = [tokens.access_token as string, tokens.id_token as string]
      const keys = createLocalJWKSet((await json(await fetch(`${running.issuer}/jwks`))) as unknown as JSONWebKeySet)
      for (const token of [access, id]) {
        const { protectedHeader } = await jwtVerify(token, keys, { issuer: running.issuer })
        assert.equal(protectedHeader.alg, alg)
      }
      const digest = createHash(hash).update(access).digest()
      assert.equal(decodeJwt(id).at_hash, digest.subarray(0, digest.length / 2).toString('base64url'))
      const discovery = await json(await fetch(`${running.issuer}/.well-known/openid-configuration`))
      assert.deepEqual(discovery.id_token_signing_alg_values_supported, [alg])
      const [header, payload, signature = ''] = access.split('.')
      const forged = Buffer.from(signature, 'base64url')
      forged[0] = (forged[0] ?? 0) ^ 1
      const call = (token: string) =>
        fetch(`${running.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })
      assert.equal((await call(access)).status, 200)
      assert.equal((await call(`${header}.${payload}.${forged.toString('base64url')}`)).status, 401)
      await running.close()
    })

    it(`requireBearer({ issuer }) in another process takes ${alg}, also when RS256 gave way to it`, async () => {
      const clock = manualClock()
      const old = { key: SIGNING_KEY, kid: 'old' }
      const running = await startServer({ clock, signingKeys: [old] })
      const api = await startChild('resource', { issuer: running.issuer, date: clock.date() })
      const call = async () => {
        const form = { grant_type: 'client_credentials' }
        const { access_token: token } = await json(await post(`${running.issuer}/token`, form, AS_WEB))
        const headers = { authorization: `Bearer ${token as string}` }
        return [decodeProtectedHeader(token as string).alg, (await fetch(api.origin, { headers })).status]
      }
      assert.deepEqual(await call(), ['RS256', 200])
      running.server.setSigningKeys([old, { key, kid: 'new', activeFrom: clock.date() + HOUR }])
      clock.advance(HOUR)
      await fetch(`${api.origin}/advance/${HOUR}`, { method: 'POST' })
      assert.deepEqual(await call(), [alg, 200])
      await api.kill()
      await running.close()
    })
  }

  it('may be replaced in an emergency: the first token of the new key triggers a fetch', async () => {
    const clock = manualClock()
    const running = await startServer({ clock, signingKeys: [{ key: SIGNING_KEY }] })
    const api = await startChild('resource', { issuer: running.issuer, date: clock.date() })
    const call = async () => {
      const { access_token: token } = await json(
        await post(`${running.issuer}/token`, { grant_type: 'client_credentials' }, AS_WEB),
      )
      return (await fetch(api.origin, { headers: { authorization: `Bearer ${token as string}` } })).status
    }
    assert.equal(await call(), 200)
    running.server.setSigningKeys([{ key: NEXT_KEY }])
    await fetch(`${api.origin}/advance/10000`, { method: 'POST' })
    assert.equal(await call(), 200)
    await api.kill()
    await running.close()
  })

  it('a login page that was open during the rotation can still be sent', async () => {
    const running = await startServer()
    const page = await new UserAgent(running.issuer).authorize(running.issuer, request())
    running.server.setSigningKeys([{ key: SIGNING_KEY }, { key: NEXT_KEY, activeFrom: Date.now() - 1 }])
    assert.equal((await page.logIn()).title, 'Terms of access')
    await running.close()
  })
})

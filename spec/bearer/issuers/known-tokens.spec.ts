import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type BearerOptions, type Session } from '../../../lib/index'
import { type KnownToken, KnownTokens } from '../../../lib/bearer/issuers/known-tokens'
import { devIssuer, manualClock } from '../../../lib/testing/index'
import { keyPair, serveIssuer } from '../../support/issuer'
import { assertIs, atMost, until } from '../../support/until'
import { apiOf } from '../api'

const asking = async (options: BearerOptions) => (await apiOf(options)).statusOf

describe('requireBearer() with a token it has verified before', () => {
  for (const cacheBytes of [undefined, 0])
    it(`checks the times to the second${cacheBytes === 0 ? ', and so without the cache' : ''}`, async () => {
      const at = 1_800_000_000
      const clock = manualClock(at * 1_000)
      const dev = devIssuer()
      const judging = async (options: object, claims: object) => {
        const ask = await asking({ ...dev.options, clock, clockToleranceSec: 2, cacheBytes, ...options })
        const token = dev.token('ada', { claims: { iat: at, ...claims } })
        return async (sec: number) => (clock.setDate((at + sec) * 1_000), ask(token))
      }
      const plain = await judging({}, { exp: at + 60, nbf: at + 10 })
      assert.equal(await plain(30), 200)
      for (const [sec, status] of [
        [7.9, 401],
        [8, 200],
        [61.9, 200],
        [62, 401],
        [30, 200],
      ] as const) {
        assert.equal(await plain(sec), status, `${sec} s`)
      }
      const young = await judging({ maxTokenAgeSec: 20 }, { exp: at + 60 })
      assert.equal(await young(10), 200)
      for (const [sec, status] of [
        [-2.1, 401],
        [-2, 200],
        [22, 200],
        [22.1, 401],
        [10, 200],
      ] as const) {
        assert.equal(await young(sec), status, `${sec} s`)
      }
    })

  it('checks it again once the issuer’s metadata say another type of token', async () => {
    const clock = manualClock()
    const { state, issuer, token } = await serveIssuer(keyPair('a'))
    const ask = await asking({ issuer, audience: 'api', clock })
    const good = token()
    assert.deepEqual([await ask(good), await ask(good)], [200, 200])
    state.metadata = { access_token_typ_values_supported: ['at+jwt'] }
    state.down = true
    clock.advance(600_001)
    assert.equal(await ask(good), 200)
    state.down = false
    clock.advance(60_000) // after a failure the metadata are read again
    await until(() => ask(good), 401)
  })

  it('refuses other spellings of it, and its claims with another signature', async () => {
    const dev = devIssuer()
    const ask = await asking(dev.options)
    const token = dev.token('ada')
    assert.equal(await ask(token), 200)
    const [header, claims, signature] = token.split('.') as [string, string, string]
    const other = dev.token('ada').split('.')[2] as string
    for (const changed of [
      `${header}.${claims}.${other}`,
      `${header}.${claims}.${signature.slice(0, -1)}`,
      `${header}.${claims}.`,
      `${header}.${Buffer.from('{"sub":"eve"}').toString('base64url')}.${signature}`,
    ]) {
      assert.equal(await ask(changed), 401)
    }
    assert.equal(await ask(token), 200)
  })

  it('revokes it with the other signature that holds, too, and takes one spelling of each', async () => {
    const dev = devIssuer()
    const state = ({ claims }: Session) => (claims.jti === 'j' ? ('revoked' as const) : ('valid' as const))
    const [open, closed] = [await asking(dev.options), await asking({ ...dev.options, revocation: { state } })]
    const token = dev.token('ada', { claims: { jti: 'j' } })
    const [header, payload, signature = ''] = token.split('.')
    // An ECDSA signature (r, s) holds as (r, n - s) too.
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const bytes = Buffer.from(signature, 'base64url')
    const s = (n - BigInt(`0x${bytes.subarray(32).toString('hex')}`)).toString(16).padStart(64, '0')
    const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s, 'hex')]).toString('base64url')
    const twin = `${header}.${payload}.${other}`
    for (const one of [token, twin]) assert.deepEqual([await open(one), await closed(one)], [200, 401])
    assert.equal(await closed(dev.token('ada', { claims: { jti: 'other' } })), 200)
    // Base64url has one spelling only: unused bits must be 0.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.charAt(alphabet.indexOf(token.slice(-1)) + 1)
    for (const spelling of [token.slice(0, -1) + last, `${token}=`, `${token}.`])
      assert.equal(await open(spelling), 401)
  })

  it('refuses it once its key is withdrawn', async () => {
    const clock = manualClock()
    const { state, issuer, token } = await serveIssuer(keyPair('a'))
    const ask = await asking({ issuer, audience: 'api', clock })
    const good = token()
    assert.equal(await ask(good), 200)
    assert.equal(await ask(good), 200)
    state.keys = [keyPair('a').jwk]
    clock.advance(600_001)
    assert.equal(await ask(good), 401)
  })
})

describe('KnownTokens', () => {
  /** Of a short token. */
  const BYTES = 1_650
  const known = (token: string) => ({ jws: { token } }) as KnownToken
  const held = (tokens: KnownTokens, names: string) => [...names].filter((name) => tokens.get(name)).join('')

  it('keeps tokens within a bound of bytes, and removes the least recently used first', () => {
    const tokens = new KnownTokens(4 * BYTES)
    for (const name of 'abcd') tokens.add(known(name))
    assert.equal(tokens.get('a')?.jws.token, 'a')
    tokens.add(known('e'))
    assert.equal(held(tokens, 'ae'), 'ae')
    assert.equal(held(tokens, 'b'), '')
    for (let i = 0; i < 50; i++) {
      tokens.add(known(`${i}`))
      assert.ok(tokens.get('a'), 'what is used stays')
    }
    assertIs(Array.from({ length: 50 }, (_, i) => tokens.get(`${i}`)).filter(Boolean).length, atMost(3))
    tokens.add(known('x'.repeat(2_000))) // more than half of the bound
    assert.deepEqual([held(tokens, 'a'), tokens.get('x'.repeat(2_000))], ['a', undefined])
  })

  it('counts each token once', () => {
    const tokens = new KnownTokens(4 * BYTES)
    for (const name of 'abababab') tokens.add(known(name))
    assert.equal(held(tokens, 'ab'), 'ab')
  })

  it('keeps none with 0 bytes', () => {
    const tokens = new KnownTokens(0)
    tokens.add(known('a'))
    assert.equal(held(tokens, 'a'), '')
  })
})

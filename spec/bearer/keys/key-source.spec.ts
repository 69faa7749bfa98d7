import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { SignJWT } from 'jose'
import { sign } from 'jsonwebtoken'
import { type DenialError, type FindKey, requireBearer } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { generateKeys } from '../../support/generate-keys'
import { says } from '../../support/help-link'
import { keyPair } from '../../support/issuer'
import { serve } from '../../support/serve'
import { until } from '../../support/until'
import { api } from '../remote-issuer'

type Pair = ReturnType<typeof generateKeys>

const issuer = 'https://as.test'
const [rsa, other, ec] = [generateKeys('rsa'), generateKeys('rsa'), generateKeys('ec')]
const jwkOf = ({ publicKey }: Pair, more: object = {}) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid: 'k',
  ...more,
})

const tokenOf = ({ privateKey }: Pair, alg: string, kid: string | undefined = 'k') =>
  new SignJWT({ iss: issuer, aud: 'api', sub: 'ada', exp: 4_102_444_800 })
    .setProtectedHeader({ alg, kid })
    .sign(privateKey)

/** An API that trusts an issuer with this JWK Set. */
async function apiWith(keys: unknown) {
  const causes: unknown[] = []
  const onDenied = (err: DenialError, _req: unknown, res: { sendStatus(status: number): void }) => {
    causes.push(err.cause)
    res.sendStatus(err.status)
  }
  const set = { issuer, jwksUri: `${issuer}/keys`, fetch: () => Promise.resolve(Response.json({ keys })) }
  return { ...(await api({ ...set, onDenied, warnings: false })), causes }
}

describe('requireBearer() and a JWK Set with one kid on several keys', () => {
  const sets: readonly [string, readonly object[], readonly [Pair, string][]][] = [
    [
      'one key for two algorithms',
      [jwkOf(rsa, { alg: 'RS256' }), jwkOf(rsa, { alg: 'RS512' })],
      [
        [rsa, 'RS256'],
        [rsa, 'RS512'],
      ],
    ],
    [
      'keys of two types',
      [jwkOf(rsa), jwkOf(ec)],
      [
        [rsa, 'RS256'],
        [rsa, 'PS256'],
        [ec, 'ES256'],
      ],
    ],
    [
      'two keys for two algorithms',
      [jwkOf(rsa, { alg: 'RS256' }), jwkOf(other, { alg: 'PS256' })],
      [
        [rsa, 'RS256'],
        [other, 'PS256'],
      ],
    ],
    ['the same JWK twice', [jwkOf(rsa), jwkOf(rsa)], [[rsa, 'RS256']]],
    ['the same key in other words', [jwkOf(rsa), { alg: 'RS256', ...jwkOf(rsa), x5c: ['x'] }], [[rsa, 'RS256']]],
    ['a key for signatures and one for encryption', [jwkOf(other, { use: 'enc' }), jwkOf(rsa)], [[rsa, 'RS256']]],
  ]
  for (const [title, keys, tokens] of sets) {
    it(`takes ${title}`, async () => {
      const { ask, bearer } = await apiWith(keys)
      await bearer.ready()
      for (const [pair, alg] of tokens) assert.equal((await ask(await tokenOf(pair, alg))).status, 200, alg)
    })
  }

  it('tries no key whose kid is that of another key, and says so', async () => {
    for (const keys of [
      [jwkOf(rsa), jwkOf(other)],
      [jwkOf(rsa, { alg: 'RS256' }), jwkOf(other)],
    ]) {
      const { ask, causes } = await apiWith([...keys, jwkOf(ec, { kid: 'good' })])
      for (const pair of [rsa, other]) assert.equal((await ask(await tokenOf(pair, 'RS256'))).status, 401)
      assert.equal((await ask(await tokenOf(ec, 'ES256', 'good'))).status, 200)
      assert.match(String(causes[0]), /the key 'k' is left out: another key for RS256 has its kid/)
    }
  })
})

describe('requireBearer() and members of a JWK that are null or empty', () => {
  const nothing = [
    { key_ops: [], oth: [], x5c: [] },
    { use: null, alg: null, kid: null, key_ops: null },
    { d: null, p: null, q: null, dp: null, dq: null, qi: null },
    { d: '', use: '', alg: '', x5t: '' },
    { 'x5t#S256': null, x5u: null, issuer: null, exp: null },
  ]
  for (const members of nothing) {
    it(`takes ${JSON.stringify(members)}`, async () => {
      for (const [pair, alg] of [
        [rsa, 'RS256'],
        [ec, 'ES256'],
      ] as const) {
        const { ask } = await apiWith([jwkOf(pair, members)])
        assert.equal((await ask(await tokenOf(pair, alg))).status, 200)
      }
    })
  }
})

describe('requireBearer() and keys that are left out', () => {
  const unusable: readonly [object | string | null, string][] = [
    [jwkOf(rsa, { use: 'enc' }), "the key 'k' is left out: its use is not sig"],
    ['no key', 'a key without kid is left out: it is no JWK'],
    [null, 'a key without kid is left out: it is no JWK'],
  ]

  for (const [jwk, why] of unusable) {
    it(`says why in cause and in ready(): ${why}`, async () => {
      const { ask, bearer, causes } = await apiWith([jwk])
      assert.equal((await ask(await tokenOf(rsa, 'RS256'))).status, 503)
      assert.ok(String(causes[0]).includes(why), String(causes[0]))
      for (const asked of [bearer.ready(), bearer.reload()]) {
        await assert.rejects(asked, (err: Error) => {
          assert.ok(err.message.includes(`its JWK Set has no key that can be used: ${why}`), err.message)
          return says(/: have the issuer sign with another key, or set algorithms$/)(err)
        })
      }
      assert.deepEqual(bearer.keys(), [])
    })
  }

  it('refuses their tokens with the reason as the cause, where there are other keys', async () => {
    const { ask, bearer, causes } = await apiWith([jwkOf(rsa, { use: 'enc' }), jwkOf(ec, { kid: 'good' })])
    await bearer.ready()
    assert.equal((await ask(await tokenOf(rsa, 'RS256'))).status, 401)
    assert.match(String(causes[0]), /the key 'k' is left out: its use is not sig/)
    assert.equal((await ask(await tokenOf(rsa, 'RS256', 'nobody'))).status, 401)
    assert.equal(causes[1], undefined)
  })
})

const { privateKey, jwk } = keyPair('a')
const clock = manualClock(Date.now())
const claims = { iss: 'https://as.test', aud: 'api', sub: 'ada', exp: 4_102_444_800 }
const token = (keyid?: string) => sign(claims, privateKey, { algorithm: 'ES256', ...(keyid && { keyid }) })

function checking(keys: FindKey, more: object = {}) {
  const { check } = requireBearer({ issuer: claims.iss, audience: 'api', keys, clock, warnings: false, ...more })
  return (kid = 'a') =>
    check(token(kid)).then(
      ({ sub }) => sub,
      ({ status, reason }: DenialError) => [status, reason],
    )
}

describe('requireBearer({ keys: (kid) => … })', () => {
  it('calls it once for the requests that wait for one key, and again after an hour', async () => {
    const asked: unknown[] = []
    const ask = checking((kid) => (asked.push(kid), new Promise((found) => setImmediate(found, jwk))))
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 300 }, () => ask()))), new Set(['ada']))
    clock.advance(3_599_999)
    assert.equal(await ask(), 'ada')
    assert.deepEqual(asked, ['a'])
    clock.advance(1)
    assert.equal(await ask(), 'ada')
    assert.deepEqual(asked, ['a', 'a'])
  })

  it('is asked for 12 keys of one block at once, whatever tokens name, and answers 503 to its others', async () => {
    const held: (() => void)[] = []
    const ask = checking(() => new Promise((found) => held.push(() => found(undefined))))
    const answers = Array.from({ length: 300 }, (_, i) => ask(`made-up-${i}`))
    await new Promise(setImmediate)
    assert.equal(held.length, 12)
    clock.advance(100)
    assert.deepEqual(await answers.at(-1), [503, 'keys_unavailable'])
    held.forEach((answer) => answer())
    assert.deepEqual(await answers[0], [401, 'unknown_key'])
  })

  it('is asked for the key of another block meanwhile, also for the one that a flood names', async () => {
    const held: (() => void)[] = []
    const keys = (kid?: string) =>
      kid === 'a' ? jwk : new Promise<undefined>((found) => held.push(() => found(undefined)))
    const app = express().set('trust proxy', 1)
    app.use(requireBearer({ issuer: claims.iss, audience: 'api', keys, clock, warnings: false }))
    app.get('/', (_req, res) => void res.end())
    const { get } = await serve(app)
    const ask = (kid: string, address: string) =>
      get('/', { authorization: `Bearer ${token(kid)}`, 'x-forwarded-for': address }).then(({ status }) => status)
    const flood = Array.from({ length: 60 }, (_, i) => ask(`made-up-${i}`, `198.51.100.${i}`))
    await until(() => held.length, 12)
    flood.push(ask('a', '198.51.100.7')) // waits, as the flood's others do
    assert.equal(await ask('a', '203.0.113.5'), 200)
    assert.equal(await flood.at(-1), 200)
    assert.equal(held.length, 12)
    const end = setInterval(() => held.splice(0).forEach((answer) => answer()), 1)
    await Promise.all(flood)
    clearInterval(end)
  })

  it('refuses what is no key, and answers 503 where the function fails or never answers', async () => {
    const hasty = { ...clock, after: (_ms: number, run: () => void) => (run(), () => undefined) }
    for (const [find, answer, more] of [
      [() => null, [401, 'unknown_key']],
      [() => 'no PEM', [401, 'unknown_key']],
      [() => ({}), [401, 'unknown_key']],
      [() => keyPair('a').jwk, [401, 'signature']],
      [() => Promise.reject(new Error('down')), [503, 'keys_unavailable']],
      [() => new Promise(() => undefined), [503, 'keys_unavailable'], { clock: hasty }],
    ] as const) {
      assert.deepEqual(await checking(find as unknown as FindKey, more)(), answer)
    }
  })
})

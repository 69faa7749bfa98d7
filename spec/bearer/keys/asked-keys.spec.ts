import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { type DenialError, type FindKey, requireBearer } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { keyPair } from '../../support/issuer'
import { serve } from '../../support/serve'
import { until } from '../../support/until'

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
    await until(() => held.length === 12)
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

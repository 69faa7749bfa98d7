// devIssuer(): tokens that others accept, attacks that are refused, rotation and outages.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt, importJWK, jwtVerify } from 'jose'
import express from 'express'
import { requireBearer } from '../../lib'
import type { DenialError } from '../../lib'
import { ATTACKS, devIssuer, manualClock, type DevAlgorithm } from '../../lib/testing'
import { fewRsaKeys } from '../support/generate-keys'
import { serve } from '../support/serve'
import { until } from '../support/until'

describe('devIssuer()', () => {
  fewRsaKeys()

  it('signs tokens that another library accepts (RFC 9068)', async () => {
    const dev = devIssuer({ issuer: 'https://i.test', audience: 'https://a.test' })
    const key = await importJWK(dev.options.key)
    const token = dev.token('ada', { clientId: 'tree', scope: ['read', 'write'] })
    const { payload } = await jwtVerify(token, key, {
      issuer: 'https://i.test',
      audience: 'https://a.test',
      typ: 'at+jwt',
    })
    const { sub, client_id, scope } = payload
    assert.deepEqual({ sub, client_id, scope }, { sub: 'ada', client_id: 'tree', scope: 'read write' })
  })

  it('has a key of its own, which another of the same name does not accept, and makes no two tokens alike', async () => {
    const [one, another] = [devIssuer(), devIssuer()]
    const verify = async (token: string) => jwtVerify(token, await importJWK(one.options.key))
    await verify(one.token('ada'))
    await assert.rejects(verify(another.token('ada')), /signature verification failed/)
    assert.notEqual(one.token('ada'), one.token('ada'))
    assert.ok(!('d' in one.options.key))
  })

  it('for each kind of session', () => {
    const dev = devIssuer()
    const { sub, client_id, session_kind } = decodeJwt(dev.token('app', { kind: 'unauthenticated' }))
    assert.deepEqual(
      { sub, client_id, session_kind },
      { sub: 'app', client_id: 'app', session_kind: 'unauthenticated' },
    )
    assert.equal(decodeJwt(dev.token('x', { kind: 'client', clientId: 'robot' })).sub, 'robot')
    assert.equal(decodeJwt(dev.token('ada')).session_kind, undefined)
  })

  it('with claims changed or left out, however wrong, and any expiry', () => {
    const clock = manualClock(1_000_000)
    const dev = devIssuer({ date: () => clock.date() })
    const claims = decodeJwt(dev.token('ada', { claims: { aud: undefined, sub: 7 }, expiresInSec: -10 }))
    assert.deepEqual([claims.aud, claims.sub, claims.iat, claims.exp], [undefined, 7, 1_000, 990])
  })
})

async function asking(options: object) {
  const reasons: (string | undefined)[] = []
  const onDenied = (err: DenialError, _req: unknown, res: express.Response) => {
    reasons.push(err.reason)
    res.status(err.status).end()
  }
  const app = express().use(requireBearer({ ...options, onDenied }), (_req, res) => void res.end())
  const { url } = await serve(app)
  const ask = async (token: string) => (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status
  return { ask, reasons }
}

describe('devIssuer() with requireBearer()', () => {
  const algorithms: DevAlgorithm[] = ['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA']
  for (const algorithm of algorithms) {
    it(`makes good tokens with ${algorithm}, and attacks that are all refused`, async () => {
      const dev = devIssuer({ algorithm })
      const { ask, reasons } = await asking(dev.options)
      assert.equal(await ask(dev.token('ada')), 200)
      for (const attack of ATTACKS) assert.equal(await ask(dev.attack(attack)), 401, attack)
      assert.deepEqual(reasons, [
        'malformed_token',
        'malformed_token',
        'signature',
        'signature',
        'signature',
        'signature',
        'unknown_key',
        'algorithm',
        'critical_header',
        'malformed_token',
        'expired',
        'expiry',
        'not_yet_valid',
        'issuer',
        'audience',
        'id_token',
        'token_type',
        'sender_constrained',
      ])
    })
  }

  it('rotates its key, and goes down', async (t) => {
    const clock = manualClock()
    const dev = devIssuer({ algorithm: 'ES384', date: () => clock.date() })
    const served = await dev.serve()
    t.after(() => served.close())
    const { ask } = await asking({ ...served.options, clock })
    const old = dev.token('ada')
    assert.equal(await ask(old), 200)
    dev.rotate()
    clock.advance(2_000)
    assert.deepEqual([await ask(dev.token('ada')), await ask(old)], [200, 200])
    dev.rotate({ withdrawn: true })
    clock.advance(2_000)
    assert.equal(await ask(dev.token('ada')), 200)
    // Its key is not known any more, so it waits for the next fetch.
    const refused = ask(old)
    let status: number | undefined
    void refused.then((known) => (status = known))
    await until(() => (clock.advance(100), status !== undefined))
    assert.equal(status, 401)
    dev.rotate()
    dev.down = true
    clock.advance(2_000)
    assert.equal(await ask(dev.token('ada')), 503)
    dev.down = false
    clock.advance(2_000)
    assert.equal(await ask(dev.token('ada')), 200)
  })

  it('dates a token when it is signed, also by a clock that a test installs later', (t) => {
    const dev = devIssuer()
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2030, 0, 1) })
    const [, claims = ''] = dev.token('ada').split('.')
    const { iat } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { iat: number }
    assert.equal(iat, Date.UTC(2030, 0, 1) / 1_000)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt, importJWK, jwtVerify } from 'jose'
import { devIssuer, manualClock } from '../../lib/testing'

describe('devIssuer()', () => {
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

  it('makes its key once per process, and no two tokens alike', () => {
    assert.deepEqual(devIssuer().options.key, devIssuer().options.key)
    assert.notEqual(devIssuer().token('ada'), devIssuer().token('ada'))
    assert.ok(!('d' in devIssuer().options.key))
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

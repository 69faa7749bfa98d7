import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Jws, readJws } from '../../../lib/bearer/credentials/jws'

const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url')
const tokenWith = (header: object, claims: object = { sub: 'ada' }) => `${part(header)}.${part(claims)}.c2ln`

describe('readJws()', () => {
  it('reads a header once that many tokens have, and each claims by itself', () => {
    const header = { alg: 'RS256', kid: 'a', typ: 'application/AT+JWT' }
    const [one, other] = ['ada', 'ben'].map((sub) => readJws(tokenWith(header, { sub })) as Jws) as [Jws, Jws]
    assert.equal(one.header, other.header)
    assert.ok(Object.isFrozen(one.header))
    assert.deepEqual([one.algorithm, one.kid, one.type], ['RS256', 'a', 'at+jwt'])
    assert.deepEqual([one.claims.sub, other.claims.sub], ['ada', 'ben'])
  })

  it('refuses a header each time that it refused once', () => {
    for (const header of [{ alg: 'RS256', crit: ['exp'] }, { alg: 7 }, { alg: 'RS256', kid: 7 }]) {
      const refusals = [1, 2].map(() => readJws(tokenWith(header)))
      assert.deepEqual(refusals[0], refusals[1])
      assert.ok('refused' in (refusals[0] as object))
    }
  })

  it('tells headers apart, however many come, and long ones', () => {
    const headers = Array.from({ length: 300 }, (_, i) => ({ alg: 'RS256', kid: `${i}` }))
    const read = (header: object) => (readJws(tokenWith(header)) as Jws).header
    const [first, long] = [read({ alg: 'ES256' }), read({ alg: 'ES256', kid: 'x'.repeat(9_999) })]
    assert.notEqual(read(long), long, 'a long one is not kept')
    assert.equal(read(first), first)
    for (const header of [...headers, ...headers]) assert.deepEqual(read(header), header)
    assert.notEqual(read(first), first, 'no more are kept than some')
  })
})

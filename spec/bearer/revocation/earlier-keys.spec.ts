import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type Session, redisRevocations } from '../../../lib/index'
import { EarlierKeys } from '../../../lib/bearer/revocation/earlier-keys'
import { entryOf } from '../../../lib/bearer/revocation/revocation-list'
import { RedisConnection } from '../../../lib/redis/redis-connection'
import { redisOfSuite } from '../../support/redis'
import { until } from '../../support/until'

const issuer = 'https://as.test'
const overMs = Math.ceil(Date.now() / 1_000) * 1_000 + 3_600_000
const entry = (id: string) => entryOf({ kind: 'token', issuer, id, overMs })
const bearer = (jti: string) => ({ issuer, sub: 'ada', clientId: 'app', claims: { jti } }) as unknown as Session

describe('redisRevocations() reads revocations of version 0.1.0', () => {
  const own = redisOfSuite()

  function upgraded(t: TestContext, prefix: string) {
    const made = redisRevocations(`redis://127.0.0.1:${own.server.port}`, { prefix })
    t.after(() => made.close())
    return made
  }

  /** `{shop:revoked}` from the prefix `shop`, `{shop::revoked}` from `shop:`. */
  for (const [was, prefix] of [
    ['{shop:revoked}:log', 'shop:'],
    ['{mart::revoked}:log', 'mart:'],
  ] as const) {
    it(`knows what is in ${was} when it is ready, and writes it under its own name`, async (t) => {
      await own.redis.zadd(was, 1, entry('one'), 2, entry('two'))
      const made = upgraded(t, prefix)
      await made.ready()
      assert.deepEqual(
        ['one', 'two', 'three'].map((jti) => made.state(bearer(jti))),
        ['revoked', 'revoked', 'valid'],
      )
      const log = await own.redis.zrange(`${prefix}{revoked}:log`, '0', '-1')
      assert.deepEqual(log.sort(), [entry('one'), entry('two')].sort())
      assert.deepEqual(await own.redis.zrange(was, '0', '-1'), [entry('one'), entry('two')], 'others may still read it')
    })
  }

  it('hears what a process of 0.1.0 revokes while both versions run', async (t) => {
    const made = upgraded(t, 'rolling:')
    await made.ready()
    await own.redis.zadd('{rolling:revoked}:log', 1, entry('late'))
    await until(() => made.state(bearer('late')) === 'revoked')
    await until(async () => (await own.redis.zscore('rolling:{revoked}:log', entry('late'))) !== null)
  })

  function reading(t: TestContext, prefix: string, user = '') {
    const connection = new RedisConnection(`redis://${user}127.0.0.1:${own.server.port}`, {
      ...{ prefix, rights: '', silentMs: 800, deadlineMs: 5_000, firstConnectionMs: 5_000 },
    })
    t.after(() => connection.close())
    return new EarlierKeys(connection, prefix)
  }

  it('reads each revocation once, from both names', async (t) => {
    const earlier = reading(t, 'once:')
    assert.deepEqual(await earlier.read(), [])
    await own.redis.zadd('{once:revoked}:log', 1, 'a', 2, 'b')
    await own.redis.zadd('{once::revoked}:log', 1, 'c')
    assert.deepEqual(await earlier.read(), ['a', 'b', 'c'])
    await own.redis.zadd('{once:revoked}:log', 3, 'd')
    assert.deepEqual(await earlier.read(), ['d'])
    assert.deepEqual(await earlier.read(), [])
  })

  it('stops reading them if its Redis user may not', async (t) => {
    await own.server.command('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~narrow:*', '+@all')
    const earlier = reading(t, 'narrow:', 'narrow:pw@')
    assert.deepEqual(await earlier.read(), [])
    await own.server.command('ACL', 'SETUSER', 'narrow', '~*')
    await own.redis.zadd('{narrow:revoked}:log', 1, 'a')
    assert.deepEqual(await earlier.read(), [])
  })

  it('rejects after any other error', async (t) => {
    await own.redis.set('{text:revoked}:log', 'x')
    await assert.rejects(reading(t, 'text:').read(), /WRONGTYPE/)
  })
})

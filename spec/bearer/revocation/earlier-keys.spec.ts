import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { type Session, redisRevocations } from '../../../lib/index'
import { EarlierKeys } from '../../../lib/bearer/revocation/earlier-keys'
import { entryOf } from '../../../lib/bearer/revocation/revocation-list'
import { RedisConnection } from '../../../lib/redis/redis-connection'
import { type Server, startRedis } from '../../support/redis'
import { until } from '../../support/until'

const issuer = 'https://as.test'
const overMs = Math.ceil(Date.now() / 1_000) * 1_000 + 3_600_000
const entry = (id: string) => entryOf({ kind: 'token', issuer, id, overMs })
const bearer = (jti: string) => ({ issuer, sub: 'ada', clientId: 'app', claims: { jti } }) as unknown as Session

describe('redisRevocations() reads revocations of version 0.1.0', () => {
  let redis: Server
  let client: Redis
  before(async () => {
    redis = await startRedis()
    client = new Redis(redis.port)
  })
  after(async () => {
    client.disconnect()
    await redis.stop()
  })

  function upgraded(t: TestContext, prefix: string) {
    const made = redisRevocations(`redis://127.0.0.1:${redis.port}`, { prefix })
    t.after(() => made.close())
    return made
  }

  /** `{shop:revoked}` from the prefix `shop`, `{shop::revoked}` from `shop:`. */
  for (const [was, prefix] of [
    ['{shop:revoked}:log', 'shop:'],
    ['{mart::revoked}:log', 'mart:'],
  ] as const) {
    it(`knows what is in ${was} when it is ready, and writes it under its own name`, async (t) => {
      await client.zadd(was, 1, entry('one'), 2, entry('two'))
      const made = upgraded(t, prefix)
      await made.ready()
      assert.deepEqual(
        ['one', 'two', 'three'].map((jti) => made.state(bearer(jti))),
        ['revoked', 'revoked', 'valid'],
      )
      const log = await client.zrange(`${prefix}{revoked}:log`, '0', '-1')
      assert.deepEqual(log.sort(), [entry('one'), entry('two')].sort())
      assert.deepEqual(await client.zrange(was, '0', '-1'), [entry('one'), entry('two')], 'others may still read it')
    })
  }

  it('hears what a process of 0.1.0 revokes while both versions run', async (t) => {
    const made = upgraded(t, 'rolling:')
    await made.ready()
    await client.zadd('{rolling:revoked}:log', 1, entry('late'))
    await until(() => made.state(bearer('late')) === 'revoked')
    await until(async () => (await client.zscore('rolling:{revoked}:log', entry('late'))) !== null)
  })

  function reading(t: TestContext, prefix: string, user = '') {
    const connection = new RedisConnection(`redis://${user}127.0.0.1:${redis.port}`, {
      ...{ prefix, rights: '', silentMs: 800, deadlineMs: 5_000, firstConnectionMs: 5_000 },
    })
    t.after(() => connection.close())
    return new EarlierKeys(connection, prefix)
  }

  it('reads each revocation once, from both names', async (t) => {
    const earlier = reading(t, 'once:')
    assert.deepEqual(await earlier.read(), [])
    await client.zadd('{once:revoked}:log', 1, 'a', 2, 'b')
    await client.zadd('{once::revoked}:log', 1, 'c')
    assert.deepEqual(await earlier.read(), ['a', 'b', 'c'])
    await client.zadd('{once:revoked}:log', 3, 'd')
    assert.deepEqual(await earlier.read(), ['d'])
    assert.deepEqual(await earlier.read(), [])
  })

  it('stops reading them if its Redis user may not', async (t) => {
    await redis.command('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~narrow:*', '+@all')
    const earlier = reading(t, 'narrow:', 'narrow:pw@')
    assert.deepEqual(await earlier.read(), [])
    await redis.command('ACL', 'SETUSER', 'narrow', '~*')
    await client.zadd('{narrow:revoked}:log', 1, 'a')
    assert.deepEqual(await earlier.read(), [])
  })

  it('rejects after any other error', async (t) => {
    await client.set('{text:revoked}:log', 'x')
    await assert.rejects(reading(t, 'text:').read(), /WRONGTYPE/)
  })
})

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import type { ClosableOAuthStore } from '../../../lib/oauth/stores/store'
import { redisOAuthStore } from '../../../lib/oauth/stores/redis-store'
import { answering } from '../../support/answering'
import { cutWire } from '../../support/cut-wire'
import { type Server, startRedis } from '../../support/redis'
import { storeContract } from './store-contract'

describe('redisOAuthStore() of the authorization server', () => {
  let server: Server
  let redis: Redis
  let store: ClosableOAuthStore
  before(async () => {
    server = await startRedis()
    redis = new Redis(server.port)
    store = redisOAuthStore(redis)
    await answering(store)
  })
  after(async () => {
    await store.close()
    await store.close()
    redis.disconnect()
    await server.stop()
  })

  storeContract(() => ({ store, pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) }))

  it('gives every key an expiry', async () => {
    await store.set('expiry', 'v', 60_000)
    await store.claim('expiry', 60_000)
    await store.count('expiry-count', 1, 60_000)
    const keys = await redis.keys('tollgate:oauth:*')
    assert.ok(keys.length > 2)
    for (const key of keys) assert.ok((await redis.pttl(key)) > 0, key)
  })

  it('goes on after the server forgot its scripts', async () => {
    await store.set('flushed', 'v', 60_000)
    await redis.script('FLUSH')
    assert.equal((await store.claim('flushed', 60_000))?.first, true)
    assert.equal((await store.count('flushed-count', 1, 60_000)).total, 1)
  })

  it("keeps its own options, whatever the client's are", async () => {
    const patient = new Redis(server.port, { maxRetriesPerRequest: null, enableOfflineQueue: true })
    const own = redisOAuthStore(patient, { prefix: 'own:' })
    await answering(own)
    await own.set('k', 'v', 60_000)
    assert.equal(await patient.get('own:k'), '0:v')
    await own.close()
    assert.equal(await patient.ping(), 'PONG')
    patient.disconnect()
  })

  it('fails while the server is gone, does not wait for it, and recovers by itself', async () => {
    const wire = await cutWire(server.port)
    const lost = redisOAuthStore(`redis://127.0.0.1:${wire.port}`)
    await answering(lost)
    await lost.set('once', 'v', 60_000)
    await wire.cut()
    await assert.rejects(lost.claim('once', 60_000))
    await assert.rejects(lost.get('once'))
    await assert.rejects(lost.count('tries', 1, 60_000))
    await wire.mend()
    while ((await lost.get('once').catch(() => undefined)) !== 'v')
      await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal((await lost.claim('once', 60_000))?.first, true, 'the claim that failed was not sent late')
    await lost.close()
    await wire.cut()
  })

  it('throws at startup for what is no client, and never shows a URL', () => {
    assert.throws(
      () => redisOAuthStore('http://user:hunter2@x'),
      (err: Error) => err instanceof TypeError && !err.message.includes('hunter2'),
    )
    assert.throws(() => redisOAuthStore(null as never), TypeError)
    assert.throws(() => redisOAuthStore('redis://x', { prefix: `${'p'.repeat(64)}:` }), /prefix/)
    assert.throws(() => redisOAuthStore('redis://x', { prefx: '' } as never), /no option "prefx"/)
  })
})

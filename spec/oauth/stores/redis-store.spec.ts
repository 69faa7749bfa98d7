import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import type { ClosableOAuthStore } from '../../../lib/oauth/stores/store'
import { redisOAuthStore } from '../../../lib/oauth/stores/redis-store'
import { answering } from '../../support/answering'
import { cutWire } from '../../support/cut-wire'
import { redisOfSuite } from '../../support/redis'
import { storeContract } from './store-contract'
import { assertIs, above, until } from '../../support/until'

describe('redisOAuthStore() of the authorization server', () => {
  const own = redisOfSuite()
  let store: ClosableOAuthStore
  before(async () => {
    store = redisOAuthStore(own.redis)
    await answering(store)
  })
  after(async () => {
    await store.close()
    await store.close()
  })

  storeContract(() => ({ store, pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) }))

  it('gives every key an expiry', async () => {
    await store.set('expiry', 'v', 60_000)
    await store.claim('expiry', 60_000)
    await store.count('expiry-count', 1, 60_000)
    const keys = await own.redis.keys('tollgate:oauth:*')
    assertIs(keys.length, above(2))
    for (const key of keys) assertIs(await own.redis.pttl(key), above(0), key)
  })

  it('goes on after the server forgot its scripts', async () => {
    await store.set('flushed', 'v', 60_000)
    await own.redis.script('FLUSH')
    assert.equal((await store.claim('flushed', 60_000))?.first, true)
    assert.equal((await store.count('flushed-count', 1, 60_000)).total, 1)
  })

  it("keeps its own options, whatever the client's are", async () => {
    const patient = new Redis(own.server.port, { maxRetriesPerRequest: null, enableOfflineQueue: true })
    const another = redisOAuthStore(patient, { prefix: 'own:' })
    await answering(another)
    await another.set('k', 'v', 60_000)
    assert.equal(await patient.get('own:k'), '0:v')
    await another.close()
    assert.equal(await patient.ping(), 'PONG')
    patient.disconnect()
  })

  it('fails while the server is gone, does not wait for it, and recovers by itself', async () => {
    const wire = await cutWire(own.server.port)
    const lost = redisOAuthStore(`redis://127.0.0.1:${wire.port}`)
    await answering(lost)
    await lost.set('once', 'v', 60_000)
    await wire.cut()
    await assert.rejects(lost.claim('once', 60_000))
    await assert.rejects(lost.get('once'))
    await assert.rejects(lost.count('tries', 1, 60_000))
    await wire.mend()
    await until(() => lost.get('once').catch(() => undefined), 'v')
    assert.equal((await lost.claim('once', 60_000))?.first, true, 'the claim that failed was not sent late')
    await lost.close()
    await wire.cut()
  })
})

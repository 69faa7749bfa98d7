import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { redisStore } from '../../../lib'
import { type AccountStore, insideOf } from '../../../lib/throttle/store/store'
import { type Server, startRedis } from '../../support/redis'
import { until } from '../../support/until'

describe('redisStore() counts the processes that live', () => {
  let redis: Server
  before(async () => (redis = await startRedis()))
  after(() => redis.stop())

  async function open(): Promise<AccountStore> {
    const store = insideOf(redisStore(`redis://127.0.0.1:${redis.port}`))
    await new Promise<void>((ready) => store.watch({ ready: () => ready(), gone: () => undefined }))
    return store
  }
  const counted = async (store: AccountStore) => (await store.serverOf('x').beat()).living as number

  it('by their heartbeats: who comes counts at once, who is silent for three seconds counts no more', async (t) => {
    const stores = [await open(), await open(), await open()] as const
    t.after(() => stores.forEach((store) => void store.close()))
    for (const [i, store] of stores.entries()) assert.equal(await counted(store), i + 1)
    assert.equal(await counted(stores[0]), 3)

    await stores[2].close()
    await until(async () => (await counted(stores[0])) + (await counted(stores[1])) === 4)
  })
})

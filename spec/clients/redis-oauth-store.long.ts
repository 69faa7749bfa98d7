import { after, before, describe } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Cluster as ValkeyCluster, Redis as ValkeyClient } from 'iovalkey'
import { type RedisClient, type ClosableOAuthStore, redisOAuthStore } from '../../lib/oauth'
import { answering } from '../support/answering'
import { type RedisCluster, startCluster } from '../redis/cluster'
import { type Server, startRedis } from '../support/redis'
import { type SentinelGroup, startSentinelGroup } from '../redis/sentinel'
import { storeContract } from '../oauth/stores/store-contract'

let redis: Server
let group: SentinelGroup
let cluster: RedisCluster
before(async () => {
  ;[redis, group, cluster] = await Promise.all([startRedis(), startSentinelGroup(), startCluster()])
})
after(() => Promise.all([redis, group, cluster].map((each) => each.stop())))

type Given = RedisClient & { disconnect(): void }

/** Every kind of client that an app may have, on the servers that it is for. */
const CLIENTS: readonly [string, () => Given][] = [
  ['ioredis 6 behind Sentinel', () => new Redis({ ...sentinels(), lazyConnect: true })],
  ['ioredis 6 on a Cluster', () => new Cluster([...cluster.nodes], { lazyConnect: true })],
  ['ioredis 5', () => new Redis5(redis.port, { lazyConnect: true })],
  ['ioredis 5 behind Sentinel', () => new Redis5({ ...sentinels(), lazyConnect: true })],
  ['ioredis 5 on a Cluster', () => new Cluster5([...cluster.nodes], { lazyConnect: true })],
  ['iovalkey', () => new ValkeyClient(redis.port, { lazyConnect: true })],
  ['iovalkey on a Cluster', () => new ValkeyCluster([...cluster.nodes], { lazyConnect: true })],
]

function sentinels() {
  return { sentinels: [...group.sentinels], name: group.name }
}

for (const [i, [name, client]] of CLIENTS.entries()) {
  describe(`redisOAuthStore() of the authorization server, given ${name}`, () => {
    let given: Given
    let store: ClosableOAuthStore
    before(async () => {
      given = client()
      store = redisOAuthStore(given, { prefix: `${i}:` })
      await answering(store)
    })
    after(async () => {
      await store.close()
      given.disconnect()
    })
    storeContract(() => ({ store, pass: (ms) => sleep(ms) }))
  })
}

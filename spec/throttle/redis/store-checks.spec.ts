import { after, before, describe, it } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { type ThrottleStore, redisStore } from '../../../lib'
import { throttleStoreContract } from './store-checks/throttle-store-contract'
import { type RedisCluster, startCluster } from '../../support/cluster'
import { type Server, startRedis } from '../../support/redis'
import { insideOf } from '../../../lib/throttle/store/store'

let redis: Server
let client: Redis
let cluster: RedisCluster
let clusterClient: Cluster
before(async () => {
  ;[redis, cluster] = await Promise.all([startRedis(), startCluster()])
  client = new Redis(redis.port)
  clusterClient = new Cluster([...cluster.nodes], { lazyConnect: true })
})
after(async () => {
  for (const each of [client, clusterClient]) each.disconnect()
  await Promise.all([redis, cluster].map((each) => each.stop()))
})

function holds(name: string, connect: () => ThrottleStore): void {
  describe(`${name} does what every store must do`, { concurrency: 4 }, () => {
    for (const { title, run } of throttleStoreContract(() => insideOf(connect()))) it(title, run)
  })
}
holds('redisStore() over Redis', () => redisStore(client))
holds('redisStore() that keeps names', () => redisStore(client, { keepSubjects: true }))
holds('redisStore() over a Cluster', () => redisStore(clusterClient))

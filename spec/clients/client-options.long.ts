import { describe, it } from 'node:test'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Cluster as ValkeyCluster, Redis as ValkeyRedis } from 'iovalkey'
import { CLUSTER_OPTIONS, guardedServersOfSuite, sharesWindows } from '../redis/given-client'

describe('redisStore() given a client with options of its own', () => {
  const auth = { password: 'secret' }
  const some = { keyPrefix: 'app:', stringNumbers: true, commandTimeout: 1, enableAutoPipelining: true }
  const servers = guardedServersOfSuite()

  for (const [name, Client, ClusterClient] of [
    ['ioredis 5', Redis5, Cluster5],
    ['iovalkey', ValkeyRedis, ValkeyCluster],
  ] as const) {
    it(`${name} shares windows`, (t) =>
      sharesWindows(t, new Client(servers.plain.port, { ...auth, ...some, lazyConnect: true })))
    for (const [title, options] of Object.entries(CLUSTER_OPTIONS))
      it(`${name} for a Cluster: ${title}`, (t) =>
        sharesWindows(t, new ClusterClient([{ host: '127.0.0.1', port: servers.cluster.port }], options(auth))))
  }
})

import { type TestContext, after, before } from 'node:test'
import { Redis } from 'ioredis'
import { redisStore } from '../../lib/index'
import type { RedisClient } from '../../lib/redis/redis-client'
import { type Server, startRedis } from '../support/redis'
import { throttledApp } from '../support/throttled-app'
import { ready } from '../support/ready'
import { atLeast, including, until } from '../support/until'

/** A Cluster of one node, or of two of which the first keeps the slots up to this one. */
export async function startNodes(last = 16_383): Promise<Server[]> {
  const start = () => startRedis('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
  const nodes = [await start(), ...(last < 16_383 ? [await start()] : [])]
  await nodes[0]?.command('CLUSTER', 'ADDSLOTSRANGE', '0', String(last))
  await nodes[1]?.command('CLUSTER', 'ADDSLOTSRANGE', String(last + 1), '16383')
  await nodes[1]?.command('CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]?.port))
  const admin = new Redis(nodes[0]?.port as number)
  await until(async () => String(await admin.cluster('INFO')), including('cluster_state:ok'))
  admin.disconnect()
  return nodes
}

/** A Redis and a node that is a whole Cluster, for the suite it is called in. Both ask for the password `secret`. */
export function guardedServersOfSuite(): { readonly plain: Server; readonly cluster: Server } {
  const servers = {} as { plain: Server; cluster: Server }
  before(async () => {
    servers.plain = await startRedis()
    servers.cluster = (await startNodes())[0] as Server
    for (const server of Object.values(servers)) await server.command('CONFIG', 'SET', 'requirepass', 'secret')
  })
  after(() => Promise.all(Object.values(servers).map((server) => server.stop())))
  return servers
}

type Given = RedisClient & { disconnect(): void }

/** Options of a Cluster's client that must survive, by what they are. */
export const CLUSTER_OPTIONS = {
  'its redisOptions': (auth: object) => ({
    lazyConnect: true,
    redisOptions: { ...auth, stringNumbers: true, commandTimeout: 1 },
  }),
  'reads from replicas, with a keyPrefix': (auth: object) => ({
    scaleReads: 'slave' as const,
    keyPrefix: 'app:',
    enableAutoPipelining: true,
    redisOptions: auth,
  }),
}

/** Two processes of an app that were given this client count together. */
export async function sharesWindows(t: TestContext, client: Given): Promise<void> {
  t.after(() => client.disconnect())
  const options = { limitMs: 10_000, windowMs: 86_400_000, name: `window ${Math.random()}` }
  const [one, other] = [
    await throttledApp(t, { ...options, store: redisStore(client) }),
    await throttledApp(t, { ...options, store: redisStore(client) }),
  ]
  await ready(one.throttled, other.throttled)
  await one.ask('ada', 3_000)
  await until(async () => Number((await other.throttled.usage('ada'))[0]?.spentMs), atLeast(3_000))
}

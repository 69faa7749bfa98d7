import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Cluster as ValkeyCluster, Redis as ValkeyRedis } from 'iovalkey'
import { redisProofs, redisStore, throttle } from '../../lib/index'
import type { RedisClient } from '../../lib/redis/redis-client'
import { type Server, startRedis } from '../support/redis'
import { throttledApp } from '../support/throttled-app'
import { until } from '../support/until'

/** A Cluster of one node, or of two of which the first keeps the slots up to this one. */
async function startNodes(last = 16_383): Promise<Server[]> {
  const start = () => startRedis('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
  const nodes = [await start(), ...(last < 16_383 ? [await start()] : [])]
  await nodes[0]?.command('CLUSTER', 'ADDSLOTSRANGE', '0', String(last))
  await nodes[1]?.command('CLUSTER', 'ADDSLOTSRANGE', String(last + 1), '16383')
  await nodes[1]?.command('CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]?.port))
  const admin = new Redis(nodes[0]?.port as number)
  await until(async () => String(await admin.cluster('INFO')).includes('cluster_state:ok'))
  admin.disconnect()
  return nodes
}

/** Connections to a server that takes no more than these. */
async function fill(t: TestContext, { port }: Server, count: number): Promise<void> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'))
  t.after(() => sockets.forEach((socket) => socket.destroy()))
  const isTaken = (socket: Socket) =>
    new Promise((resolve, reject) => socket.once('data', resolve).once('close', reject).write('PING\r\n'))
  await Promise.all(sockets.map(isTaken))
}

/** What is wrong with a server that answers, how it is made so, and what the message says. */
const REFUSALS: readonly [string, (t: TestContext, servers: Server[]) => Promise<Server>, RegExp][] = [
  [
    'a node of a Cluster',
    async (_t, servers) => {
      const [node, other] = (await startNodes(0)) as [Server, Server]
      servers.push(other)
      return node
    },
    /is a node of a Cluster \(MOVED\): give a client of the Cluster: new Cluster\(/,
  ],
  [
    'a replica',
    async (_t, servers) => {
      const primary = await startRedis()
      servers.push(primary)
      return startRedis('--replicaof', `127.0.0.1 ${primary.port}`)
    },
    /is a replica that only reads \(READONLY\): give the primary's address/,
  ],
  [
    'a server without a free connection',
    async (t) => {
      const server = await startRedis('--maxclients', '2')
      await until(() =>
        fill(t, server, 2).then(
          () => true,
          () => false,
        ),
      )
      return server
    },
    /has no connection left for one more client \(MAXCLIENTS\): raise its maxclients/,
  ],
  [
    'a server without memory',
    () => startRedis('--maxmemory', '1', '--maxmemory-policy', 'noeviction'),
    /has no memory left \(OOM\): raise its maxmemory/,
  ],
  [
    'a server that lacks its replicas',
    () => startRedis('--min-replicas-to-write', '1'),
    /takes no writes \(NOREPLICAS\): see its log/,
  ],
]

describe('redisStore() over a Redis that refuses the client', () => {
  for (const [name, start, says] of REFUSALS) {
    it(`says so of ${name} with the remedy, once`, async (t) => {
      const servers: Server[] = []
      t.after(() => Promise.all(servers.map((each) => each.stop())))
      const server = await start(t, servers)
      servers.push(server)
      const said: string[] = []
      const heard = ({ message }: Error) => message.includes(`:${server.port} `) && said.push(message)
      process.on('warning', heard)
      t.after(() => process.off('warning', heard))
      const store = redisStore(`redis://127.0.0.1:${server.port}`)
      const beat = t.mock.method(store.serverOf(''), 'beat')
      const throttled = throttle({ store })
      t.after(() => throttled.close())
      await assert.rejects(throttled.ready(), says)
      const beats = beat.mock.callCount()
      await until(() => beat.mock.callCount() > beats + 4)
      assert.equal(said.length, 1)
      const proofs = redisProofs(`redis://127.0.0.1:${server.port}`)
      t.after(() => proofs.close())
      if (name !== 'a server without a free connection') await assert.rejects(async () => proofs.note('a', 60, 0), says)
    })
  }
})

it('redisStore() connects ever more rarely to a server that turns it away', async (t) => {
  const connectedAt: number[] = []
  const server = createServer((socket) => {
    connectedAt.push(performance.now())
    socket.on('error', () => undefined).end('-ERR max number of clients reached\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const throttled = throttle({ store: redisStore(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`) })
  t.after(async () => {
    await throttled.close()
    server.close()
  })
  await until(() => connectedAt.length >= 4)
  const [first, , , fourth] = connectedAt as [number, number, number, number]
  assert.ok(fourth - first > 0.75 * (250 + 500 + 1_000) - 5, `${fourth - first} ms`)
})

describe('redisStore() given a client with options of its own', () => {
  let plain: Server
  let cluster: Server
  before(async () => {
    plain = await startRedis()
    cluster = (await startNodes())[0] as Server
    for (const server of [plain, cluster]) await server.command('CONFIG', 'SET', 'requirepass', 'secret')
  })
  after(() => Promise.all([plain.stop(), cluster.stop()]))

  type Given = RedisClient & { disconnect(): void }
  const OPTIONS = {
    stringNumbers: true,
    keyPrefix: 'app:',
    enableAutoPipelining: true,
    commandTimeout: 1,
    socketTimeout: 1,
    connectTimeout: 1,
    maxRetriesPerRequest: null,
    retryStrategy: () => null,
    reconnectOnError: () => 2 as const,
    enableReadyCheck: false,
    replyMapping: 'resp3' as const,
    protocol: 2 as const,
    readOnly: true,
    connectionName: 'app',
    db: 2,
  }
  const auth = { password: 'secret' }

  async function sharesWindows(t: TestContext, client: Given): Promise<void> {
    t.after(() => client.disconnect())
    const options = { limitMs: 10_000, windowMs: 86_400_000, name: `window ${Math.random()}` }
    const [one, other] = [
      await throttledApp(t, { ...options, store: redisStore(client) }),
      await throttledApp(t, { ...options, store: redisStore(client) }),
    ]
    await Promise.all([one.throttled.ready(), other.throttled.ready()])
    await one.ask('ada', 3_000)
    await until(async () => Number((await other.throttled.usage('ada'))[0]?.spentMs) >= 3_000)
  }

  for (const option of Object.keys(OPTIONS) as (keyof typeof OPTIONS)[])
    it(`shares windows with ${option}`, (t) =>
      sharesWindows(t, new Redis(plain.port, { ...auth, lazyConnect: true, [option]: OPTIONS[option] })))

  const nodes = () => [{ host: '127.0.0.1', port: cluster.port }]
  const CLUSTERS: [string, (options: object) => Given][] = [
    ['ioredis 6', (options) => new Cluster(nodes(), options)],
    ['ioredis 5', (options) => new Cluster5(nodes(), options)],
    ['iovalkey', (options) => new ValkeyCluster(nodes(), options)],
  ]
  for (const [name, client] of CLUSTERS) {
    it(`keeps the redisOptions of a Cluster's client of ${name}`, (t) =>
      sharesWindows(
        t,
        client({ lazyConnect: true, redisOptions: { ...auth, stringNumbers: true, commandTimeout: 1 } }),
      ))
    it(`takes a Cluster's client of ${name} that reads from replicas, with a keyPrefix`, (t) =>
      sharesWindows(
        t,
        client({ scaleReads: 'slave', keyPrefix: 'app:', enableAutoPipelining: true, redisOptions: auth }),
      ))
  }
  for (const [name, Client] of [
    ['ioredis 5', Redis5],
    ['iovalkey', ValkeyRedis],
  ] as const)
    // prettier-ignore
    it(`shares windows with the options of a client of ${name}`, (t) => {
      const { keyPrefix, stringNumbers, commandTimeout, enableAutoPipelining } = OPTIONS
      const some = { keyPrefix, stringNumbers, commandTimeout, enableAutoPipelining, lazyConnect: true }
      return sharesWindows(t, new Client(plain.port, { ...auth, ...some }))
    })
})

// Servers that refuse, and clients with options of their own or a password that changes.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { Cluster, Redis } from 'ioredis'
import { redisStore, throttle } from '../../lib/index'
import { startSentinel } from './sentinel'
import { warned } from '../support/heard'
import { seenProofs } from './seen-proofs'
import { type Server, startRedis } from '../support/redis'
import { ready } from '../support/ready'
import { assertIs, atLeast, above, until } from '../support/until'
import { CLUSTER_OPTIONS, guardedServersOfSuite, sharesWindows, startNodes } from './given-client'
import { insideOf } from '../../lib/throttle/store/store'

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
    // The client may find the connection closed before it has read why.
    /has no connection left for one more client \(MAXCLIENTS\): raise its maxclients|closed the connection \(E[A-Z]+\): .*maxclients/,
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

/** How many commands the server has answered by MOVED. */
async function movedBy({ port }: Server): Promise<number> {
  const admin = new Redis(port, { lazyConnect: true })
  const [, count] = /errorstat_MOVED:count=(\d+)/.exec(await admin.info('errorstats')) ?? []
  admin.disconnect()
  return Number(count)
}

describe('redisStore() over a Redis that refuses the client', () => {
  for (const [name, start, says] of REFUSALS) {
    it(`says so of ${name} with the remedy, once`, async (t) => {
      const servers: Server[] = []
      t.after(() => Promise.all(servers.map((each) => each.stop())))
      const server = await start(t, servers)
      servers.push(server)
      const said = warned(t)
      const store = redisStore(`redis://127.0.0.1:${server.port}`)
      const beat = t.mock.method(insideOf(store).serverOf(''), 'beat')
      const throttled = throttle({ store })
      t.after(() => throttled.close())
      await assert.rejects(throttled.ready(), says)
      const beats = beat.mock.callCount()
      await until(() => beat.mock.callCount(), above(beats + 4))
      if (name === 'a node of a Cluster') assert.equal(await movedBy(server), 1, 'it is asked no more')
      assert.equal(said.filter((message) => message.includes(`:${server.port} `)).length, 1)
      const proofs = seenProofs(`redis://127.0.0.1:${server.port}`)
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
  await until(() => connectedAt.length, atLeast(4))
  const [first, , , fourth] = connectedAt as [number, number, number, number]
  assertIs(fourth - first, above(0.75 * (250 + 500 + 1_000) - 5))
})

describe('redisStore() given a client with options of its own', () => {
  const servers = guardedServersOfSuite()

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

  for (const option of Object.keys(OPTIONS) as (keyof typeof OPTIONS)[])
    it(`shares windows with ${option}`, (t) =>
      sharesWindows(t, new Redis(servers.plain.port, { ...auth, lazyConnect: true, [option]: OPTIONS[option] })))

  for (const [title, options] of Object.entries(CLUSTER_OPTIONS))
    it(`shares windows with a Cluster's client: ${title}`, (t) =>
      sharesWindows(t, new Cluster([{ host: '127.0.0.1', port: servers.cluster.port }], options(auth))))
})

describe('redisStore() given a client whose password changes while the process runs', () => {
  const servers = guardedServersOfSuite()

  /** Gives the servers another password, and the app's client too, as a rotation does. All connections are cut. */
  async function outlives(t: TestContext, server: Server, client: Redis | Cluster, options: { password?: string }) {
    t.after(() => client.disconnect())
    const throttled = throttle({ store: redisStore(client), name: `rotated ${server.port}` })
    t.after(() => throttled.close())
    await ready(throttled)
    const admin = new Redis(server.port, { password: 'secret' })
    for (const password of ['second', 'third', 'secret']) {
      await admin.config('SET', 'requirepass', password)
      options.password = password
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await until(async () => String(await admin.client('LIST')), / cmd=eval/) // a new connection, since all were cut
      await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
    }
    admin.disconnect()
  }

  it('connects to a server with the new one', (t) => {
    const client = new Redis(servers.plain.port, { password: 'secret', lazyConnect: true })
    return outlives(t, servers.plain, client, client.options as { password?: string })
  })

  it('connects to a Cluster with the new one', (t) => {
    const redisOptions = { password: 'secret' }
    const client = new Cluster([{ host: '127.0.0.1', port: servers.cluster.port }], { lazyConnect: true, redisOptions })
    return outlives(t, servers.cluster, client, client.options.redisOptions as { password?: string })
  })

  it('connects through sentinels with the new one', async (t) => {
    const sentinel = await startSentinel(servers.plain.port)
    t.after(() => sentinel.stop())
    const sentinels = [{ host: '127.0.0.1', port: sentinel.port }]
    const client = new Redis({ sentinels, name: 'primary', password: 'secret', lazyConnect: true })
    return outlives(t, servers.plain, client, client.options as { password?: string })
  })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type Server, startRedis, startServer } from '../support/redis'
import { including, not, until } from '../support/until'

/** A primary with a replica, and three sentinels that watch them. */
export interface SentinelGroup {
  /** What a client is given: `new Redis({ sentinels, name })`. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  readonly name: string
  /** The two servers; which of them is the primary changes with a failover. */
  readonly servers: readonly [Server, Server]
  /** The port of the server that is the primary by the sentinels' word. */
  primary(): Promise<number>
  /** Nothing written from now on reaches the replica. */
  cutReplication(): Promise<void>
  /** Kills the primary with SIGKILL; resolves when the sentinels have promoted the replica, and it takes writes. */
  failover(): Promise<void>
  stop(): Promise<void>
}

const NAME = 'primary'

/** Starts five servers, and waits until a failover would succeed. */
export async function startSentinelGroup(): Promise<SentinelGroup> {
  const first = await startRedis()
  const second = await startRedis('--replicaof', '127.0.0.1', String(first.port))
  const watching = await Promise.all([1, 2, 3].map(() => startSentinel(first.port)))
  const all = [first, second, ...watching]
  const clients = new Map(all.map(({ port }) => [port, connection(port)]))
  const client = (port: number) => clients.get(port) as Redis
  const ask = (port: number, ...args: [string, ...string[]]) =>
    client(port)
      .call(...args)
      .catch(() => undefined)

  /** The sentinels' view of the group; all three have to share it before two of them can promote anybody. */
  async function settled(sentinel: Server): Promise<boolean> {
    const view = pairs((await ask(sentinel.port, 'SENTINEL', 'MASTER', NAME)) as string[] | undefined)
    return view.get('num-other-sentinels') === '2' && view.get('num-slaves') === '1' && view.get('flags') === 'master'
  }
  for (const sentinel of watching) await until(() => settled(sentinel))
  await until(async () => String(await ask(second.port, 'INFO', 'replication')), including('master_link_status:up'))

  const primary = async () => {
    const [sentinel] = watching as [Server]
    const address = (await ask(sentinel.port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as [string, string]
    return Number(address[1])
  }
  return {
    sentinels: watching.map(({ port }) => ({ host: '127.0.0.1', port })),
    name: NAME,
    servers: [first, second],
    primary,
    async cutReplication() {
      const redis = client(await primary())
      await redis.call('ACL', 'SETUSER', 'default', '-psync')
      await redis.call('CLIENT', 'KILL', 'TYPE', 'replica')
    },
    async failover() {
      const old = await primary()
      all.find(({ port }) => port === old)?.signal('SIGKILL')
      await until(primary, not(old))
      const promoted = await primary()
      await until(async () => String(await ask(promoted, 'INFO', 'replication')), including('role:master'))
    },
    async stop() {
      for (const each of clients.values()) each.disconnect()
      await Promise.all(all.map((server) => server.stop()))
    },
  }
}

export function startSentinel(primaryPort: number): Promise<Server> {
  return startServer((dir, port) => {
    const file = join(dir, 'sentinel.conf') // a sentinel keeps its state in its configuration
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 2`,
      `sentinel down-after-milliseconds ${NAME} 500`,
      `sentinel failover-timeout ${NAME} 3000`,
    ]
    writeFileSync(file, lines.join('\n'))
    return [file, '--sentinel']
  })
}

function connection(port: number): Redis {
  const redis = new Redis(port, { maxRetriesPerRequest: 0, enableReadyCheck: false, retryStrategy: () => 50 })
  redis.on('error', () => undefined)
  return redis
}

function pairs(flat: readonly string[] = []): Map<string, string> {
  return new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] as string]] : [])))
}

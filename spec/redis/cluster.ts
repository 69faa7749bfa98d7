import { Redis } from 'ioredis'
import { type Server, freePort, startRedis } from '../support/redis'
import { until } from '../support/until'

const SLOTS = 16_384

/** A server of the Cluster. */
export interface ClusterNode {
  readonly port: number
  readonly id: string
  readonly server: Server
  /** A plain connection to this very server: it answers for its own slots only. */
  readonly admin: Redis
}

/** Three masters with a replica each. */
export interface RedisCluster {
  /** What a client is given: `new Cluster(nodes)`. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[]
  /** As they were at the start. `masters[i]` has `replicas[i]`. */
  readonly masters: readonly ClusterNode[]
  readonly replicas: readonly ClusterNode[]
  /** The master that answers for this key now. */
  masterOf(key: string): Promise<ClusterNode>
  /** The slot of a key. */
  slotOf(key: string): Promise<number>
  /**
   * Moves a slot as redis-cli does, key by key, while clients go on.
   *
   * @param halfway is awaited when half of the keys are here and half there: clients are sent from one to the other
   */
  moveSlot(slot: number, to: ClusterNode, halfway?: () => Promise<unknown>): Promise<void>
  /** Waits until every slot is served by a master that is alive. */
  whole(): Promise<void>
  stop(): Promise<void>
}

export interface ClusterOptions {
  /** After so long a silent master is taken for dead. */
  readonly nodeTimeoutMs?: number
  /** False: the other slots are served while one master is missing. Default false. */
  readonly requireFullCoverage?: boolean
}

/** Starts six servers, and waits until all of them agree. */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const nodes = await Promise.all(Array.from({ length: 6 }, () => startNode(options)))
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)]
  for (const [i, { admin }] of nodes.entries()) await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
  for (const [i, { admin }] of masters.entries()) {
    const [from, to] = [i, i + 1].map((n) => Math.floor((SLOTS * n) / masters.length)) as [number, number]
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1)
  }
  for (const a of nodes) {
    for (const b of nodes) if (a !== b) await a.admin.call('CLUSTER', 'MEET', '127.0.0.1', b.port, b.busPort)
  }
  await until(async () => (await Promise.all(nodes.map(({ admin }) => known(admin)))).every((n) => n === nodes.length))
  for (const [i, { admin }] of replicas.entries()) {
    await admin.call('CLUSTER', 'REPLICATE', (masters[i] as ClusterNode).id)
  }
  const anybody = () => nodes.find(({ admin }) => admin.status === 'ready') as ClusterNode
  const ranges = async () => (await anybody().admin.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][]
  const whole = () =>
    until(async () => {
      const alive = nodes.filter(({ admin }) => admin.status === 'ready')
      const agreed = (await Promise.all(alive.map(isWhole))).every(Boolean)
      return agreed && (await ranges()).every(([, , [, port]]) => alive.some((node) => node.port === port))
    })
  await whole()
  await until(async () => (await Promise.all(replicas.map(isLinked))).every(Boolean))

  const slotOf = async (key: string) => Number(await anybody().admin.call('CLUSTER', 'KEYSLOT', key))
  async function owner(slot: number): Promise<ClusterNode> {
    const range = (await ranges()).find(([from, to]) => from <= slot && slot <= to)
    const port = range?.[2][1]
    return nodes.find((node) => node.port === port) as ClusterNode
  }
  return {
    nodes: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    masters,
    replicas,
    slotOf,
    masterOf: async (key) => owner(await slotOf(key)),
    async moveSlot(slot, to, halfway) {
      const from = await owner(slot)
      await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id)
      await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id)
      let half = Math.ceil(Number(await from.admin.call('CLUSTER', 'COUNTKEYSINSLOT', slot)) / 2)
      for (;;) {
        const keys = (await from.admin.call('CLUSTER', 'GETKEYSINSLOT', slot, 1)) as string[]
        if (half-- === 0) await halfway?.()
        if (keys.length === 0) break
        await from.admin.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'REPLACE', 'KEYS', ...keys)
      }
      for (const each of [to, from, ...masters]) {
        if (each.admin.status === 'ready') await each.admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id).catch(ours)
      }
    },
    whole,
    async stop() {
      for (const { admin } of nodes) admin.disconnect()
      await Promise.all(nodes.map(({ server }) => server.stop()))
    },
  }
}

/** A replica that was promoted, or a master that became one, need not be told. */
function ours(err: Error): void {
  if (!/replica|master/i.test(err.message)) throw err
}

interface Node extends ClusterNode {
  readonly busPort: number
}

async function startNode({ nodeTimeoutMs = 1_000, requireFullCoverage = false }: ClusterOptions): Promise<Node> {
  const busPort = await freePort()
  const server = await startRedis(
    ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
    ...['--cluster-node-timeout', String(nodeTimeoutMs)],
    ...['--cluster-require-full-coverage', requireFullCoverage ? 'yes' : 'no'],
    ...['--repl-diskless-sync-delay', '0'],
  )
  const admin = new Redis(server.port, {
    ...{ maxRetriesPerRequest: 0, enableReadyCheck: false, retryStrategy: () => 50 },
  })
  admin.on('error', () => undefined)
  const id = String(await admin.call('CLUSTER', 'MYID'))
  return { port: server.port, id, server, admin, busPort }
}

async function known(admin: Redis): Promise<number> {
  return String(await admin.call('CLUSTER', 'NODES'))
    .trim()
    .split('\n')
    .filter((line) => !line.includes('handshake')).length
}

async function isWhole({ admin }: ClusterNode): Promise<boolean> {
  const info = String(await admin.call('CLUSTER', 'INFO').catch(() => ''))
  return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`)
}

async function isLinked({ admin }: ClusterNode): Promise<boolean> {
  return String(await admin.info('replication')).includes('master_link_status:up')
}

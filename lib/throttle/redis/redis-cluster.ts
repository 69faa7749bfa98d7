import type { NativeCluster } from '../../redis/open-redis'
import type { RedisConnection } from '../../redis/redis-connection'
import type { StoreServer, StoreWatcher, AccountStore } from '../store/store'
import type { SubjectDigest } from '../budget/subjects'
import { keySlot } from './key-slot'
import { type Keys, RedisServer } from './redis-server'
import { addUsage, readUsage, usageKey } from './redis-usage'

/** Tags tried to find one in a slot of a master. A master with few slots may have none among them, and no canary then. */
const TAGS_TRIED = 200_000

/** The accounts of a Cluster: those of a subject are in one slot, and each master is watched by itself. */
export class RedisCluster implements AccountStore {
  readonly deadlineMs: number
  readonly #redis: RedisConnection
  readonly #cluster: NativeCluster
  readonly #keys: Keys
  readonly #masters = new Map<string, Master>()
  /** Keeps those whose slot nobody is known to keep: before the Cluster has answered, and where a part of it is missing. */
  readonly #nobody: Master
  /** The address of each slot's master. Our own, since ioredis points a whole range elsewhere at the first MOVED. */
  #owners: readonly (string | undefined)[] = []

  constructor(
    redis: RedisConnection,
    cluster: NativeCluster,
    keys: Keys,
    readonly digest: SubjectDigest | undefined,
  ) {
    this.deadlineMs = keys.deadlineMs
    this.#redis = redis
    this.#cluster = cluster
    this.#keys = keys
    this.#nobody = this.#master(undefined)
  }

  serverOf(id: string): StoreServer {
    const owner = this.#owners[keySlot(id)]
    return (owner !== undefined && this.#masters.get(owner)) || this.#nobody
  }

  watch(watcher: StoreWatcher): void {
    this.#redis.open()
    this.#cluster.on('refresh', () => this.#refreshed(watcher))
    this.#cluster.on('+node', (node) => {
      const { host, port } = (node as ClusterNode).options
      ;(node as ClusterNode).on('ready', () => {
        const master = this.#masters.get(`${host}:${port}`)
        if (master) watcher.ready(master)
      })
    })
  }

  #refreshed(watcher: StoreWatcher): void {
    this.#owners = Array.from(this.#cluster.slots, (keepers: readonly string[] | undefined) => keepers?.[0])
    const now = new Set(this.#owners)
    const gone: StoreServer[] = []
    for (const [address, master] of this.#masters) {
      if (now.has(address)) continue
      this.#masters.delete(address)
      gone.push(master)
    }
    if (this.#owners.length > 0 && !now.has(undefined)) gone.push(this.#nobody)
    for (const address of now) {
      if (address === undefined || this.#masters.has(address)) continue
      const master = this.#master(address)
      this.#masters.set(address, master)
      watcher.ready(master)
    }
    for (const server of gone) watcher.gone(server) // last: its accounts go to those that keep them now
  }

  addUsage(policy: string, hour: number, counts: ReadonlyMap<string, number>): Promise<void> {
    return addUsage(this.#redis, usageKey(this.#keys.prefix, policy, hour), hour, counts)
  }

  readUsage(policy: string, hours: readonly number[]): Promise<Record<string, string>[]> {
    return readUsage(
      this.#redis,
      hours.map((hour) => usageKey(this.#keys.prefix, policy, hour)),
    )
  }

  close(): Promise<void> {
    this.#redis.close()
    return Promise.resolve()
  }

  #master(name: string | undefined): Master {
    return new Master(this.#redis, this.#keys, name, () => this.#owners)
  }
}

interface ClusterNode {
  readonly options: { readonly host: string; readonly port: number }
  on(event: 'ready', listener: () => void): unknown
}

class Master extends RedisServer {
  /** Only keys of one slot may go together, and of a slot that is moving not even those. */
  override reportsPerCommand = 1
  readonly #owners: () => readonly (string | undefined)[]
  #tag = ''

  constructor(
    redis: RedisConnection,
    keys: Keys,
    name: string | undefined,
    owners: () => readonly (string | undefined)[],
  ) {
    super(redis, keys, name)
    this.#owners = owners
  }

  protected beatTag(): string {
    const owners = this.#owners()
    const ours = (tag: string) => owners[keySlot(tag)] === this.name
    if (this.#tag === '' || !ours(this.#tag)) {
      this.#tag = ''
      for (let n = 0; n < TAGS_TRIED && this.#tag === ''; n++) if (ours(String(n))) this.#tag = String(n)
    }
    if (this.name === undefined || this.#tag === '')
      throw this.redis.fault ?? new Error('no server of the Cluster keeps these slots')
    return this.#tag
  }
}

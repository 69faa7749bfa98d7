import type { StoreShard, ThrottleStore } from '../../throttle/sync/store'

const LATE_MS = 40

/**
 * A store as a bad network shows it: every second command arrives again late, after others, and some replies are lost
 * though the command was done.
 */
export function unreliableStore(store: ThrottleStore): ThrottleStore & {
  /** Resolves when every late command was done. */
  settled(): Promise<void>
} {
  const shards = new Map<StoreShard, StoreShard>()
  let late: Promise<unknown>[] = []
  let commands = 0

  function behindIt(shard: StoreShard): StoreShard {
    const known = shards.get(shard)
    if (known) return known
    const made: StoreShard = {
      name: shard.name,
      beat: () => shard.beat(),
      async sync(...command) {
        const n = commands++
        const reply = await shard.sync(...command)
        if (n % 2 === 0) late.push(after(LATE_MS, () => shard.sync(...command).catch(() => undefined)))
        if (n % 5 === 4) throw new Error('the reply was lost')
        return reply
      },
    }
    shards.set(shard, made)
    return made
  }
  return {
    shardOf: (id) => behindIt(store.shardOf(id)),
    watch: (watcher) =>
      store.watch({
        ready: (shard) => watcher.ready(behindIt(shard)),
        gone: (shard) => watcher.gone(behindIt(shard)),
      }),
    async close() {
      await this.settled()
      await store.close()
    },
    async settled() {
      const waiting = late
      late = []
      await Promise.all(waiting)
    },
  }
}

function after<T>(ms: number, run: () => Promise<T>): Promise<T> {
  return new Promise((resolve) => setTimeout(() => resolve(run()), ms))
}

import type { StoreServer, AccountStore } from '../../../../lib/throttle/store/store'

const LATE_MS = 40

/**
 * A store as a bad network shows it: every second command arrives again late, after others, and some replies are lost
 * though the command was done.
 */
export function unreliableStore(store: AccountStore): AccountStore & {
  /** Resolves when every late command was done. */
  settled(): Promise<void>
} {
  const servers = new Map<StoreServer, StoreServer>()
  let late: Promise<unknown>[] = []
  let commands = 0

  function behindIt(server: StoreServer): StoreServer {
    const known = servers.get(server)
    if (known) return known
    const made: StoreServer = {
      name: server.name,
      beat: () => server.beat(),
      async report(...command) {
        const n = commands++
        const reply = await server.report(...command)
        if (n % 2 === 0) late.push(after(LATE_MS, () => server.report(...command).catch(() => undefined)))
        if (n % 5 === 4) throw new Error('the reply was lost')
        return reply
      },
    }
    servers.set(server, made)
    return made
  }
  return {
    serverOf: (id) => behindIt(store.serverOf(id)),
    watch: (watcher) =>
      store.watch({
        ready: (server) => watcher.ready(behindIt(server)),
        gone: (server) => watcher.gone(behindIt(server)),
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

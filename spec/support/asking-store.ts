import type { ThrottleStore } from '../../lib'
import { type StoreServer, insideOf } from '../../lib/throttle/store/store'

/**
 * A store that is asked for nothing ahead of need, so that each admission asks it.
 *
 * @param window the name of the only window where that is so
 */
export function askingStore(store: ThrottleStore, window?: string): ThrottleStore {
  const inside = insideOf(store)
  const serverOf = inside.serverOf.bind(inside)
  const asked = new WeakSet<StoreServer>()
  return Object.assign(store, {
    serverOf: (id: string) => {
      const server = serverOf(id)
      if (asked.has(server)) return server
      asked.add(server)
      const report = server.report.bind(server)
      server.report = (process, reports) =>
        report(
          process,
          reports.map((each) =>
            (window ?? each.account.terms.policy) === each.account.terms.policy
              ? { ...each, askedAheadUs: 0, askedAheadPlaces: 0 }
              : each,
          ),
        )
      return server
    },
  })
}

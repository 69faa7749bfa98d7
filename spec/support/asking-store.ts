import type { ThrottleStore } from '../../lib'
import { type StoreServer, insideOf } from '../../lib/throttle/store/store'

/** A store whose servers report by another function, made of their own. */
export function changedReports(
  store: ThrottleStore,
  change: (report: StoreServer['report']) => StoreServer['report'],
): ThrottleStore {
  const inside = insideOf(store)
  const serverOf = inside.serverOf.bind(inside)
  const changed = new WeakSet<StoreServer>()
  return Object.assign(store, {
    serverOf: (id: string) => {
      const server = serverOf(id)
      if (!changed.has(server)) server.report = change(server.report.bind(server))
      changed.add(server)
      return server
    },
  })
}

/**
 * A store that is asked for nothing ahead of need, so that each admission asks it.
 *
 * @param window the name of the only window where that is so
 */
export function askingStore(store: ThrottleStore, window?: string): ThrottleStore {
  return changedReports(store, (report) => (process, reports) => {
    const isAsked = (policy: string) => window === undefined || window === policy
    const asked = reports.map((each) =>
      isAsked(each.account.terms.policy) ? { ...each, askedAheadUs: 0, askedAheadPlaces: 0 } : each,
    )
    return report(process, asked)
  })
}

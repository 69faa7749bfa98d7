import type { Clock } from '../../../lib/http/clock'
import type { StoreServer, AccountStore } from '../../../lib/throttle/store/store'
import { StoreModel } from '../simulation/model'

/** The stores of so many processes that share one server: what sync.lua does, in the clock's time and without a delay. */
export function modelStores(processes: number, clock: Clock): AccountStore[] {
  const model = new StoreModel()
  const time = () => Math.round(clock.date() * 1_000)
  return Array.from({ length: processes }, (_, i) => {
    const server: StoreServer = {
      name: undefined,
      report: (process, reports) => Promise.resolve(reports.map((report) => model.report(process, report, time()))),
      beat: () => Promise.resolve(model.beat(String(i), time())),
    }
    return { serverOf: () => server, watch: () => undefined, close: () => Promise.resolve() }
  })
}

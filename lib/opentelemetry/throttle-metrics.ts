import type { Meter } from '@opentelemetry/api'
import { listenTo } from '../http/channel-listeners'
import { MOST_ROUTES, OTHER_ROUTES, routeName } from '../inspect/route-name'
import type {
  AdmittedMessage,
  ChargedMessage,
  OverloadMessage,
  RefusedMessage,
  SyncedMessage,
} from '../throttle/events'

/** Bounds in seconds: OpenTelemetry's default ones are meant for milliseconds. */
const PROCESSING_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const SYNC_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.07, 0.1, 0.25, 1]

/**
 * Measures every throttle of this process with an OpenTelemetry meter, from what they publish on
 * `node:diagnostics_channel`:
 *
 * - `tollgate.requests` {request}: by `tollgate.window` and `tollgate.outcome`, which is `admitted`, `refused`,
 *   `unavailable`, `overload` or `dry_run`; by `tollgate.reason` where it was refused, which is `spent`, `reserved`,
 *   `concurrency`, `queue`, `outage` or `overload`
 * - `tollgate.processing.duration` s: processing time charged, by `tollgate.window` and `tollgate.route`, such as
 *   `GET /users/:id`: the first 200 routes, then `other routes`
 * - `tollgate.hold.duration` s: time held for running requests, by `tollgate.window`
 * - `tollgate.sync.duration` s: answer time of the store, by `tollgate.window`
 * - `tollgate.degraded` {store}: stores that do not answer
 * - `tollgate.overload.share` 1: the part of all work asked for that is let in while the process is overloaded;
 *   `tollgate.overload.delay` s: the event loop's delay then
 *
 * No attribute says who paid. A second call with the same meter adds nothing.
 *
 * @experimental names and attributes of the metrics may change
 * @example const stop = throttleMetrics(metrics.getMeter('express-tollgate'))
 * @param meter of `@opentelemetry/api` 1.x
 * @returns what ends it
 */
export function throttleMetrics(meter: Meter): () => void {
  const known = measuring.get(meter)
  if (known !== undefined) return known
  const end = measured(meter)
  const stop = () => {
    measuring.delete(meter)
    end()
  }
  measuring.set(meter, stop)
  return stop
}

/** What ends each: a meter that is given twice, beside each throttle or by a hot reload, counts once. */
const measuring = new WeakMap<Meter, () => void>()

function measured(meter: Meter): () => void {
  const requests = meter.createCounter('tollgate.requests', { unit: '{request}', description: 'Requests by outcome' })
  const time = meter.createHistogram('tollgate.processing.duration', {
    unit: 's',
    description: 'Processing time charged',
    advice: { explicitBucketBoundaries: PROCESSING_S },
  })
  const hold = meter.createUpDownCounter('tollgate.hold.duration', {
    unit: 's',
    description: 'Time held for running requests',
  })
  const sync = meter.createHistogram('tollgate.sync.duration', {
    unit: 's',
    description: 'Answer time of the store',
    advice: { explicitBucketBoundaries: SYNC_S },
  })
  const degraded = meter.createUpDownCounter('tollgate.degraded', {
    unit: '{store}',
    description: 'Stores that do not answer',
  })
  const share = meter.createGauge('tollgate.overload.share', {
    unit: '1',
    description: 'Part of all work asked for that is let in',
  })
  const delay = meter.createGauge('tollgate.overload.delay', {
    unit: 's',
    description: 'Delay of the event loop while load is shed',
  })
  const routes = new Set<string>()
  const routeOf = (req: ChargedMessage['req'] | undefined): string => {
    const name = req && routeName(req)
    if (name === undefined || (!routes.has(name) && routes.size >= MOST_ROUTES)) return OTHER_ROUTES
    routes.add(name)
    return name
  }
  const of = (window: string) => ({ 'tollgate.window': window })

  return listenTo('throttleMetrics()', {
    'express-tollgate:admitted'({ window, holdMs }: AdmittedMessage) {
      requests.add(1, { ...of(window), 'tollgate.outcome': 'admitted' })
      hold.add(holdMs / 1_000, of(window))
    },
    'express-tollgate:refused'({ window, status, reason, dryRun }: RefusedMessage) {
      const answered = reason === 'overload' ? 'overload' : status === 429 ? 'refused' : 'unavailable'
      const outcome = dryRun ? 'dry_run' : answered
      requests.add(1, { ...of(window), 'tollgate.outcome': outcome, 'tollgate.reason': reason })
    },
    'express-tollgate:charged'({ req, window, chargedMs, holdMs }: ChargedMessage) {
      if (chargedMs > 0) time.record(chargedMs / 1_000, { ...of(window), 'tollgate.route': routeOf(req) })
      hold.add(-holdMs / 1_000, of(window))
    },
    'express-tollgate:synced'({ window, latencyMs }: SyncedMessage) {
      sync.record(latencyMs / 1_000, of(window))
    },
    'express-tollgate:degraded': () => degraded.add(1),
    'express-tollgate:recovered': () => degraded.add(-1),
    'express-tollgate:overload'(message: OverloadMessage) {
      share.record(message.share)
      delay.record(message.delayMs / 1_000)
    },
  })
}

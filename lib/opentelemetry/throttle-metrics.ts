import type { Meter } from '@opentelemetry/api'
import { listenTo } from '../http/channel-listeners'
import type { AdmittedMessage, ChargedMessage, RefusedMessage, SyncedMessage } from '../throttle/diagnostics'

/**
 * Measures every throttle of this process with an OpenTelemetry meter, from what they tell `node:diagnostics_channel`:
 *
 * - `tollgate.requests` {request}: by `window` and `outcome`, `admitted`, `refused`, `unavailable` or `dry_run`;
 *   by `reason` where it was refused: `spent`, `hold`, `places` or `outage`
 * - `tollgate.processing_time` ms: charged, by `window`
 * - `tollgate.hold` ms: set aside for requests in flight, by `window`
 * - `tollgate.sync.duration` ms: what the store takes to answer, by `window`
 * - `tollgate.degraded` {store}: stores that do not answer
 *
 * No label says who paid.
 *
 * @example const stop = throttleMetrics(metrics.getMeter('express-tollgate'))
 * @param meter of `@opentelemetry/api` 1.x
 * @returns what ends it
 */
export function throttleMetrics(meter: Meter): () => void {
  const requests = meter.createCounter('tollgate.requests', { unit: '{request}', description: 'Requests by outcome' })
  const time = meter.createHistogram('tollgate.processing_time', { unit: 'ms', description: 'Processing time charged' })
  const hold = meter.createUpDownCounter('tollgate.hold', {
    unit: 'ms',
    description: 'Time set aside for requests in flight',
  })
  const sync = meter.createHistogram('tollgate.sync.duration', { unit: 'ms', description: 'Answer time of the store' })
  const degraded = meter.createUpDownCounter('tollgate.degraded', {
    unit: '{store}',
    description: 'Stores that do not answer',
  })

  return listenTo('throttleMetrics()', {
    'express-tollgate:admitted'({ window, holdMs }: AdmittedMessage) {
      requests.add(1, { window, outcome: 'admitted' })
      hold.add(holdMs, { window })
    },
    'express-tollgate:refused'({ window, status, reason, dryRun }: RefusedMessage) {
      requests.add(1, { window, reason, outcome: dryRun ? 'dry_run' : status === 429 ? 'refused' : 'unavailable' })
    },
    'express-tollgate:charged'({ window, ms, holdMs }: ChargedMessage) {
      if (ms > 0) time.record(ms, { window })
      hold.add(-holdMs, { window })
    },
    'express-tollgate:synced'({ window, latencyMs }: SyncedMessage) {
      sync.record(latencyMs, { window })
    },
    'express-tollgate:degraded': () => degraded.add(1),
    'express-tollgate:recovered': () => degraded.add(-1),
  })
}

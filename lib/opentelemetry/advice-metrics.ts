import type { BatchObservableResult, Meter } from '@opentelemetry/api'
import type { Throttle } from '../throttle/throttle'

/** Quantiles by the names that Prometheus gives them. */
const QUANTILES = { p50: '0.5', p90: '0.9', p99: '0.99', p999: '0.999', max: '1' } as const

/**
 * Shows what `throttled.advise({ hours: 1 })` says, each time the meter's reader collects:
 *
 * - `tollgate.usage` s: processing time that users took per window in the last hour, by `tollgate.window` and
 *   `tollgate.quantile`: `0.5`, `0.9`, `0.99`, `0.999`, `1`
 * - `tollgate.limit` s: the present limit, by `tollgate.window`, where it does not depend on the request
 *
 * With a store the figures are those of all processes, so one process is enough.
 *
 * @experimental names and attributes of the metrics may change
 * @example const stop = adviceMetrics(metrics.getMeter('express-tollgate'), throttled)
 * @param meter of `@opentelemetry/api` 1.x
 * @returns what ends it
 */
export function adviceMetrics(meter: Meter, throttled: Throttle): () => void {
  const usage = meter.createObservableGauge('tollgate.usage', {
    unit: 's',
    description: 'Processing time that users took per window in the last hour',
  })
  const limit = meter.createObservableGauge('tollgate.limit', { unit: 's', description: 'Limit of a window' })
  const gauges = [usage, limit]

  async function observe(result: BatchObservableResult): Promise<void> {
    const all = await throttled.advise({ hours: 1 }).catch(() => []) // the store does not answer: there is nothing to show
    for (const { window, subjectWindows, quantilesMs, limitMs } of all) {
      const of = { 'tollgate.window': window }
      if (limitMs !== null) result.observe(limit, limitMs / 1_000, of)
      if (subjectWindows === 0) continue
      for (const name of ['p50', 'p90', 'p99', 'p999', 'max'] as const) {
        result.observe(usage, quantilesMs[name] / 1_000, { ...of, 'tollgate.quantile': QUANTILES[name] })
      }
    }
  }

  meter.addBatchObservableCallback(observe, gauges)
  return () => meter.removeBatchObservableCallback(observe, gauges)
}

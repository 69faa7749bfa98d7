import { Distribution } from './distribution'
import type { HourRecord } from './hourly'

/** How much processing time subjects use per window, and what limits would mean for them. */
export interface Advice {
  /** The window's name. */
  readonly window: string
  /** The window's length. */
  readonly windowMs: number
  /** The present limit; null where it depends on the request. */
  readonly limitMs: number | null
  /** Hours of the figures: windows that ended in the present hour and those before it. */
  readonly hours: number
  /** Subjects times windows in which they used time: 10 users in each of 60 windows are 600. */
  readonly subjectWindows: number
  /** Their processing time added up, in milliseconds. */
  readonly processingMs: number
  /** Requests refused in these hours. */
  readonly refusedRequests: number
  /**
   * Limits were enforced, so totals are cut off at the limit: the figures say too little of what users would use. Undefined
   * where nothing was refused.
   */
  readonly warning: string | undefined
  /** Totals of subject-windows in milliseconds: half of them are at most `p50`. Exact to 9 %. All are 0 without any. */
  readonly quantilesMs: {
    readonly p50: number
    readonly p90: number
    readonly p99: number
    readonly p999: number
    readonly max: number
  }
  /**
   * Candidate limits, as asked for: by default 0.5, 1, 2 and 5 times the present one. Each has `limitMs`; `subjectWindows`
   * with a total that reaches it, and their `share`; and `timeShare`, the part of all processing time that is above it.
   */
  readonly limits: readonly {
    readonly limitMs: number
    /** Subject-windows whose total was above it: their later requests would have been refused. */
    readonly subjectWindows: number
    /** The same as a share of all subject-windows, 0 to 1. */
    readonly share: number
    /** The processing time above it, as a share of all processing time, 0 to 1. */
    readonly timeShare: number
  }[]
  /** The totals as a histogram, from the lowest to the highest; empty bars are left out. */
  readonly distribution: readonly {
    readonly fromMs: number
    readonly toMs: number
    readonly subjectWindows: number
  }[]
}

/** Candidate limits as multiples of the present one. */
const CANDIDATES = [0.5, 1, 2, 5]

/**
 * What the records of some hours say of one window.
 *
 * @param limitsMs candidate limits; default: 0.5, 1, 2 and 5 times the present one, or times p99 where that depends on the
 *   request
 */
export function adviceOf(
  { name: window, windowMs, limitMs: stated }: { name: string; windowMs: number; limitMs: unknown },
  record: HourRecord,
  hours: number,
  isDryRun: boolean,
  limitsMs?: readonly number[],
): Advice {
  const totals = new Distribution(record.histogram)
  const limitMs = typeof stated === 'number' ? stated : null
  const quantileMs = (q: number) => Math.round(totals.quantileUs(q) / 1_000)
  const base = limitMs ?? quantileMs(0.99)
  const refusedRequests = Math.max(0, record.refused)
  return {
    window,
    windowMs,
    limitMs,
    hours,
    subjectWindows: totals.count,
    processingMs: Math.round(totals.us / 1_000),
    refusedRequests,
    warning: isDryRun || refusedRequests === 0 ? undefined : warningOf(refusedRequests),
    quantilesMs: {
      p50: quantileMs(0.5),
      p90: quantileMs(0.9),
      p99: quantileMs(0.99),
      p999: quantileMs(0.999),
      max: quantileMs(1),
    },
    limits: (limitsMs ?? CANDIDATES.map((factor) => factor * base)).map((one) => limitAdvice(totals, one)),
    distribution: totals.bars,
  }
}

function limitAdvice(totals: Distribution, limitMs: number): Advice['limits'][number] {
  const { count, us } = totals.above(limitMs * 1_000)
  const share = (part: number, whole: number) => (whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0)
  return {
    limitMs,
    subjectWindows: Math.round(count),
    share: share(count, totals.count),
    timeShare: share(us, totals.us),
  }
}

function warningOf(refused: number): string {
  const requests = refused === 1 ? '1 request was' : `${refused.toLocaleString('en')} requests were`
  return (
    `${requests} refused, so the totals are cut off at the limit and users would use more than is shown. ` +
    'Set dryRun: true for a day to see what they would use.'
  )
}

import { appendFileSync } from 'node:fs'
import type { TestContext } from 'node:test'

/** `npm run chaos` runs everything at full length; `npm test` proves the same in a few seconds. */
export const FULL = process.env.CHAOS === 'full'

/** A fault under load: a line of the run's first table. */
export interface FaultRow {
  readonly fault: string
  /** Requests per second while it lasted. */
  readonly load: number
  readonly requests: number
  readonly lostMs: number
  readonly doubledMs: number
  /** The longest that any request waited for a decision, in milliseconds, and 999 of 1,000. */
  readonly longestMs: number
  readonly p999Ms: number
  /** The longest stall of the control process meanwhile. */
  readonly stallMs: number
  /** From the fault's end until the shared total was right again. */
  readonly recoveredMs: number | undefined
}

/** Bursts of one kind: one line of the second. Work is a share of the budget. */
export interface BurstRow {
  readonly burst: string
  readonly run: number
  readonly mean: number
  readonly least: number
  readonly most: number
  /** What none of them may exceed: the budget and the longest request. */
  readonly bound: number
  /** The mean of what handlers really worked, where processes knew what requests take; 0.9 at least. */
  readonly worked: number | null
}

/** Anything else that was measured: one line of the third. */
export interface FigureRow {
  readonly what: string
  readonly figure: string
  readonly bound: string
}

/** Tells the reader of a run, and the tables where they are written. */
export function tell(t: TestContext, row: FaultRow | BurstRow | FigureRow): void {
  t.diagnostic(JSON.stringify(row))
  if (process.env.CHAOS_TABLE) appendFileSync(process.env.CHAOS_TABLE, `${JSON.stringify(row)}\n`)
}

/** What `share` of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
}

import type { TestContext } from 'node:test'

/** `npm run chaos` runs everything at full length; `npm run test:long` proves the same in a few seconds. */
export const FULL = process.env.CHAOS === 'full'

/** Tells the reader of a run what was measured. */
export function tell(t: TestContext, measured: object): void {
  t.diagnostic(JSON.stringify(measured))
}

/** What `share` of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
}

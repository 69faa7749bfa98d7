import { NO_STRAIN } from './rollover'

/** A subject's requests that run at once on a fresh budget, where the policy states no `concurrency`. */
export const PLACES = 32

/** What a request's policy grants its subject. */
export interface Terms {
  readonly limitUs: number
  /** Requests of the subject that run at once, over all processes. */
  readonly concurrency: number
}

/**
 * How many requests of a subject may run at once: its `concurrency`, and fewer where little of the limit is left. The
 * same rule is in sync.lua.
 */
export function placesOf({ limitUs, concurrency }: Terms, usedUs: number, strain: number): number {
  const byLimit = (Math.max(concurrency, PLACES) * (limitUs - usedUs)) / limitUs
  return (Math.min(concurrency, byLimit) * NO_STRAIN) / strain
}

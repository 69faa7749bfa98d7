// What an overloaded server is asked for.

export type Work = 'blocking' | 'pool'

export const BLOCKING_MS = 5
export const POOLED_MS = 50
export const POOL_SIZE = 20

export const HEAVY_USERS = 5
export const LIGHT_USERS = 100
/** Of all requests, those of the heavy users. */
export const HEAVY_PART = 0.6
/** Times the capacity. */
export const OVERLOAD = 2

/** A quarter more than a heavy user would use in a minute if every request was let in: limits alone stop nobody. */
export const HEAVY_LIMIT_MS: Readonly<Record<Work, number>> = {
  blocking: heavyLimitMs(1),
  pool: heavyLimitMs(POOL_SIZE),
}

function heavyLimitMs(workers: number): number {
  return (1.25 * 60_000 * workers * OVERLOAD * HEAVY_PART) / HEAVY_USERS
}

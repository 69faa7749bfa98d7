import { isSpent } from '../throttle/budget/past'
import { parseField, parseSums, parseWindowKey, shortName } from '../throttle/redis/record'

/** What Redis holds of one subject's open window: the sum of what the processes have reported. */
export interface PublishedWindow {
  /** The window's name, `default` unless the throttle has another. */
  readonly window: string
  /** Who pays, as Redis knows them: a hash. */
  readonly subject: string
  /** Who pays, as `redisStore(url, { keepSubjects: true })` keeps it: at most 64 bytes. Undefined: only the hash is known. */
  readonly name: string | undefined
  /** Processing time used, in milliseconds; that of running requests as far as it was reported. */
  readonly spentMs: number
  /** Time held for requests that are not finished, in milliseconds. */
  readonly holdMs: number
  /** Requests not finished, with places granted ahead. A killed process leaves its own until they expire. */
  readonly running: number
  /** The highest limit of a request of this window, in milliseconds. */
  readonly limitMs: number
  /** `limitMs` if the limit is used up, so that requests are refused until the window ends; otherwise null. */
  readonly overLimitMs: number | null
  /** How many processes have served the subject in this window. */
  readonly processes: number
  /** Until the window ends, in milliseconds. */
  readonly endsInMs: number
  /** For how long the subject's requests have been refused, in milliseconds; null where no process says so. */
  readonly refusedForMs: number | null
}

/**
 * Reads a key and its hash as redisStore() and sync.lua write them.
 *
 * @param now the server's time in microseconds since 1970: holds that have expired by then count as used
 * @returns undefined for what is no open window of a throttle: something else with the same prefix, or a record that was
 *   kept after its window ended
 */
export function parsePublishedWindow(
  prefix: string,
  key: string,
  fields: Readonly<Record<string, Buffer>>,
  now: number,
): PublishedWindow | undefined {
  const named = parseWindowKey(prefix, key)
  const sums = fields.s && parseSums(fields.s)
  if (named === undefined || sums === undefined || sums.ends <= now) return undefined
  const endsInMs = Math.round((sums.ends - now) / 1_000)
  let [usedUs, holdUs, running, processes] = [sums.used, 0, 0, 0]
  for (const [name, packed] of Object.entries(fields)) {
    if (name === 's' || name === 'n') continue
    const field = parseField(packed)
    if (field === undefined) return undefined
    processes++
    if (field.expires <= now) usedUs += field.held
    else {
      holdUs += field.held
      running += field.running
    }
  }
  const [spentMs, holdMs] = [Math.max(0, Math.floor(usedUs / 1_000)), Math.round(holdUs / 1_000)]
  const limitMs = Math.round(sums.limit / 1_000)
  const overLimitMs = sums.limit > 0 && isSpent(sums.limit, usedUs) ? limitMs : null
  const { window, id: subject } = named
  const name = fields.n && shortName(fields.n.toString())
  return {
    window,
    subject,
    name,
    spentMs,
    holdMs,
    running,
    limitMs,
    overLimitMs,
    processes,
    endsInMs,
    refusedForMs: null,
  }
}

import { parseField, parseSums, parseWindowKey, shortName } from '../redis/record'

/** What Redis holds of one subject's open window: the sum of what the processes have reported. */
export interface PublishedWindow {
  /** The window's name, `default` unless the throttle has another. */
  readonly window: string
  /** Who pays, as Redis knows them: a hash. */
  readonly subject: string
  /** Who pays, as `redisStore(url, { names: true })` keeps it: at most 64 bytes. Undefined: only the hash is known. */
  readonly name: string | undefined
  /** Processing time used, in milliseconds; that of running requests as far as it was reported. */
  readonly spentMs: number
  /** Time held for requests that are not finished, in milliseconds. */
  readonly holdMs: number
  /** Requests not finished, with places granted ahead. A killed process leaves its own until they expire. */
  readonly running: number
  /** The limit of the latest request that was reported, in milliseconds. */
  readonly limitMs: number
  /** The same where it is exceeded, so that requests are refused until the window ends; else null. */
  readonly overLimitMs: number | null
  /** How many processes have served the subject in this window and were not closed since. */
  readonly processes: number
  /** Until the window ends, in milliseconds. */
  readonly endsInMs: number
}

/** Fields of a record that are no process's. */
const NO_PROCESS = new Set(['s', 'c', 'c:e', 'c:a', 'n'])

/**
 * Reads a key and its hash as redisStore() and sync.lua write them.
 *
 * @param endsInMs what PTTL says: below zero where the key is gone or is nobody's window
 * @param now the time in microseconds since 1970: what has expired by then is used, and held no more
 * @returns undefined for what is no window of a throttle, though it begins with the same prefix
 */
export function parsePublishedWindow(
  prefix: string,
  key: string,
  fields: Readonly<Record<string, Buffer>>,
  endsInMs: number,
  now: number,
): PublishedWindow | undefined {
  const named = parseWindowKey(prefix, key)
  const sums = fields.s && parseSums(fields.s)
  if (named === undefined || sums === undefined || endsInMs < 0) return undefined
  let [usedUs, holdUs, running, processes] = [sums.used, 0, 0, 0]
  for (const [name, packed] of Object.entries(fields)) {
    if (NO_PROCESS.has(name)) continue
    const field = parseField(packed)
    if (field === undefined) return undefined
    processes++
    if (field.expires <= now) usedUs += field.held
    else {
      holdUs += field.held
      running += field.running
    }
  }
  const [spentMs, holdMs] = [Math.max(0, Math.round(usedUs / 1_000)), Math.round(holdUs / 1_000)]
  const limitMs = Math.round(sums.limit / 1_000)
  const overLimitMs = usedUs > sums.limit ? limitMs : null
  const { window, id: subject } = named
  const name = fields.n && shortName(fields.n.toString())
  return { window, subject, name, spentMs, holdMs, running, limitMs, overLimitMs, processes, endsInMs }
}

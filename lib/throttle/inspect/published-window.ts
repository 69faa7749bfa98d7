import { parseWindowKey } from '../redis/window-record'
import { parseFigures, parseTotals } from '../redis/window-record'

/** What Redis holds of one subject's open window: the sum of what the processes have published. */
export interface PublishedWindow {
  /** The window's name, `default` unless the throttle has another. */
  readonly window: string
  /** Who pays, as Redis knows them: a hash. */
  readonly subject: string
  /** Processing time used, in milliseconds; what runs now is in it as of the last tick. */
  readonly spentMs: number
  /** Time set aside for requests that are not finished, in milliseconds. */
  readonly holdMs: number
  /** Requests not finished. A killed process leaves its own until the window ends. */
  readonly running: number
  /** The limit in milliseconds where it is exceeded, so that requests are refused until the window ends; else null. */
  readonly overLimitMs: number | null
  /** How many processes have served the subject in this window and were not closed since. */
  readonly processes: number
  /** Until the window ends, in milliseconds. */
  readonly endsInMs: number
}

/**
 * Reads a key and its hash as redisStore() and sync.lua write them.
 *
 * @param endsInMs what PTTL says: below zero where the key is gone or is nobody's window
 * @returns undefined for what is no window of a throttle, though it begins with the same prefix
 */
export function parsePublishedWindow(
  prefix: string,
  key: string,
  fields: Readonly<Record<string, Buffer>>,
  endsInMs: number,
): PublishedWindow | undefined {
  const named = parseWindowKey(prefix, key)
  const totals = fields.t && parseTotals(fields.t)
  if (named === undefined || totals === undefined || endsInMs < 0) return undefined
  const published = Object.entries(fields).filter(([name]) => name.length > 1)
  let [spentUs, holdUs, running] = [totals.gone + totals.inherited, 0, 0]
  for (const [, field] of published) {
    const figures = parseFigures(field)
    if (figures === undefined) return undefined
    spentUs += figures.spent
    holdUs += figures.hold
    running += figures.running
  }
  const [spentMs, holdMs] = [Math.max(0, Math.round(spentUs / 1_000)), Math.round(holdUs / 1_000)]
  const overLimitMs = totals.limit === undefined ? null : Math.round(totals.limit / 1_000)
  const { id: subject, window } = named
  return { window, subject, spentMs, holdMs, running, overLimitMs, processes: published.length, endsInMs }
}

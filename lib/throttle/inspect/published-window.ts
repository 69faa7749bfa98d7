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
  /** How many processes have served the subject in this window. */
  readonly processes: number
  /** Until the window ends, in milliseconds. */
  readonly endsInMs: number
}

/** `seq:spent`, where something is going on `:hold:running:slack:until`, and where it is exceeded the limit; see sync.lua. */
const FIGURES = /^\d+:(-?\d+)(?::(\d+):(\d+):\d+:\d+|::::(?=:))?(?::(\d+))?$/

/**
 * Reads a key and its hash as redisStore() and sync.lua write them: `prefix{subject}:number:window`.
 *
 * @param endsInMs what PTTL says: below zero where the key is gone or is nobody's window
 * @returns undefined for what is no window of a throttle, though it begins with the same prefix
 */
export function parsePublishedWindow(
  prefix: string,
  key: string,
  fields: Readonly<Record<string, string>>,
  endsInMs: number,
): PublishedWindow | undefined {
  const [, subject, window] = /^\{([\w-]{24})\}:\d+:(.*)$/s.exec(key.slice(prefix.length)) ?? []
  const published = Object.values(fields)
  if (subject === undefined || window === undefined || published.length === 0 || endsInMs < 0) return undefined
  let [spentUs, holdUs, running, limitUs] = [0, 0, 0, -1]
  for (const figures of published) {
    const found = FIGURES.exec(figures)
    if (found === null) return undefined
    spentUs += Number(found[1])
    holdUs += Number(found[2] ?? 0)
    running += Number(found[3] ?? 0)
    limitUs = Math.max(limitUs, Number(found[4] ?? -1))
  }
  const [spentMs, holdMs] = [Math.max(0, Math.round(spentUs / 1_000)), Math.round(holdUs / 1_000)]
  // After a reset an older write may still say that it was exceeded.
  const overLimitMs = limitUs >= 0 && spentUs > limitUs ? Math.round(limitUs / 1_000) : null
  return { window, subject, spentMs, holdMs, running, overLimitMs, processes: published.length, endsInMs }
}

import { type Clock, checkClock, systemClock } from '../../http/clock'
import { optionNames, optionRange } from '../../http/options'
import type { Claim, Count, OAuthStore } from './store'

interface Entry {
  value: string
  endsAt: number
  claimedAt?: number
}

/** Expired entries are swept out each time that so many have been written. */
const SWEEP_EVERY = 1_024

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Entries kept at most, 1 to 16,000,000. Default 1,000,000, some 300 MB. */
  readonly maxEntries?: number
  /** Default: the machine's. */
  readonly clock?: Clock
}

/**
 * Keeps everything in this process's memory: for one process, and lost with it.
 *
 * A full store refuses to take more instead of forgetting, because what would be forgotten might be a revocation or a
 * lock; requests that need it are then answered 503 until entries expire.
 *
 * @example authorizationServer({ store: memoryStore(), … })
 */
export function memoryStore(options: MemoryStoreOptions = {}): OAuthStore {
  optionNames('memoryStore', options, ['maxEntries', 'clock'])
  const { maxEntries = 1_000_000, clock = systemClock } = options
  optionRange('maxEntries', maxEntries, 1, 16_000_000)
  checkClock(clock)
  const entries = new Map<string, Entry>()
  let written = 0

  return {
    set: (key, value, ttlMs) => settle(() => put(key, { value, endsAt: clock.now() + ttlMs })),
    get: (key, idleMs) => settle(() => read(key, idleMs)),
    claim: (key, keepMs) => settle(() => claim(key, keepMs)),
    count: (key, by, windowMs) => settle(() => count(key, by, windowMs)),
  }

  function live(key: string): Entry | undefined {
    const entry = entries.get(key)
    return entry && entry.endsAt > clock.now() ? entry : undefined
  }

  function put(key: string, entry: Entry): void {
    if (++written % SWEEP_EVERY === 0 || entries.size >= maxEntries) sweep()
    if (entries.size >= maxEntries && !entries.has(key)) throw new Error(`memoryStore is full: ${maxEntries} entries`)
    entries.set(key, entry)
  }

  function sweep(): void {
    const now = clock.now()
    for (const [key, entry] of entries) if (entry.endsAt <= now) entries.delete(key)
  }

  function read(key: string, idleMs: number | undefined): string | undefined {
    const entry = live(key)
    if (entry && idleMs !== undefined) entry.endsAt = clock.now() + idleMs
    return entry?.value
  }

  function claim(key: string, keepMs: number): Claim | undefined {
    const entry = live(key)
    if (!entry) return undefined
    const now = clock.now()
    if (entry.claimedAt !== undefined) return { value: entry.value, first: false, agoMs: now - entry.claimedAt }
    if (keepMs === 0) entries.delete(key)
    else Object.assign(entry, { claimedAt: now, endsAt: now + keepMs })
    return { value: entry.value, first: true, agoMs: 0 }
  }

  function count(key: string, by: number, windowMs: number): Count {
    const entry = live(key)
    if (!entry) {
      if (by <= 0) return { total: 0, endsInMs: 0 }
      put(key, { value: String(by), endsAt: clock.now() + windowMs })
      return { total: by, endsInMs: windowMs }
    }
    entry.value = String(Number(entry.value) + by)
    return { total: Number(entry.value), endsInMs: entry.endsAt - clock.now() }
  }
}

/** The one turn in which the step runs is what makes it atomic. */
function settle<T>(step: () => T): Promise<T> {
  return new Promise((resolve) => resolve(step()))
}

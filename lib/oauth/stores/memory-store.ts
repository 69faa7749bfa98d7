import { type Clock, checkClock, systemClock } from '../../http/clock'
import { storeError } from '../../http/help'
import { optionNames, optionRange } from '../../http/options'
import { type Expiring, ExpiryQueues } from './expiry-queues'
import type { OAuthStoreClaim, OAuthStoreCount, OAuthStore, OAuthStoreShare } from './store'

interface Entry extends Expiring {
  readonly key: string
  readonly share: OAuthStoreShare | undefined
  value: string
  claimedAt?: number
}

/** Options of {@link memoryOAuthStore}. */
export interface MemoryOAuthStoreOptions {
  /**
   * Maximum number of entries, 1 to 16,000,000. Default 1,000,000, about 400 MB. Records that strangers can create use
   * at most half of them; docs/security.md lists these. The rest is for logins, codes, users' tokens and revocations.
   */
  readonly maxEntries?: number | undefined
  /** Default: the system's. */
  readonly clock?: Clock | undefined
}

/**
 * Keeps everything in this process's memory: for one process, and lost with it.
 *
 * A full store refuses new entries instead of dropping old ones, because an old one could be a revocation or a lock-out.
 * Requests that need a new entry are then answered 503 until others expire.
 *
 * @example authorizationServer({ store: memoryOAuthStore(), … })
 */
export function memoryOAuthStore(options: MemoryOAuthStoreOptions = {}): OAuthStore {
  optionNames('memoryOAuthStore', options, ['maxEntries', 'clock'])
  const { maxEntries = 1_000_000, clock = systemClock } = options
  optionRange('maxEntries', maxEntries, 1, 16_000_000)
  checkClock(clock)
  const entries = new Map<string, Entry>()
  const queues = new ExpiryQueues<Entry>()
  /** Oldest first. */
  const unused = new Set<Entry>()
  const mostOfStrangers = Math.ceil(maxEntries / 2)
  let ofStrangers = 0

  return {
    set: (key, value, ttlMs, share) => settle(() => put(key, value, ttlMs, share)),
    get: (key, idleMs) => settle(() => read(key, idleMs)),
    claim: (key, keepMs) => settle(() => claim(key, keepMs)),
    count: (key, by, windowMs, share) => settle(() => count(key, by, windowMs, share)),
  }

  function live(key: string): Entry | undefined {
    const entry = entries.get(key)
    return entry && entry.endsAt > clock.now() ? entry : undefined
  }

  function put(key: string, value: string, ttlMs: number, share: OAuthStoreShare | undefined): void {
    const now = clock.now()
    // Two out for one in, so that expired entries do not pile up.
    drop(queues.expiredOf(ttlMs, now))
    drop(queues.expiredInTurn(now))
    const before = entries.get(key)
    if (!before) makeRoom(share, now)
    drop(before)
    const entry: Entry = { key, share, value, endsAt: 0 }
    queues.put(entry, now, ttlMs)
    entries.set(key, entry)
    if (share) ofStrangers++
    if (share === 'unused') unused.add(entry)
  }

  function makeRoom(share: OAuthStoreShare | undefined, now: number): void {
    for (;;) {
      const isReserved = share !== undefined && ofStrangers >= mostOfStrangers
      if (entries.size < maxEntries && !isReserved) return
      const [oldest] = unused
      const out = queues.expired(now) ?? oldest
      if (!out)
        throw storeError(`memoryOAuthStore is full: ${isReserved ? mostOfStrangers : maxEntries} entries`, Error)
      drop(out)
    }
  }

  function drop(entry: Entry | undefined): void {
    if (!entry) return
    queues.remove(entry)
    entries.delete(entry.key)
    unused.delete(entry)
    if (entry.share) ofStrangers--
  }

  function read(key: string, idleMs: number | undefined): string | undefined {
    const entry = live(key)
    if (entry && idleMs !== undefined) queues.put(entry, clock.now(), idleMs)
    return entry?.value
  }

  function claim(key: string, keepMs: number): OAuthStoreClaim | undefined {
    const entry = live(key)
    if (!entry) return undefined
    const now = clock.now()
    if (entry.claimedAt !== undefined) return { value: entry.value, first: false, agoMs: now - entry.claimedAt }
    if (keepMs === 0) drop(entry)
    else {
      entry.claimedAt = now
      queues.put(entry, now, keepMs)
    }
    return { value: entry.value, first: true, agoMs: 0 }
  }

  function count(key: string, by: number, windowMs: number, share: OAuthStoreShare | undefined): OAuthStoreCount {
    const entry = live(key)
    if (!entry) {
      if (by <= 0) return { total: 0, endsInMs: 0 }
      put(key, String(by), windowMs, share)
      return { total: by, endsInMs: windowMs }
    }
    entry.value = String(Number(entry.value) + by)
    return { total: Number(entry.value), endsInMs: entry.endsAt - clock.now() }
  }
}

/** Each step runs within one turn of the event loop, which makes it atomic. */
function settle<T>(step: () => T): Promise<T> {
  return new Promise((resolve) => resolve(step()))
}

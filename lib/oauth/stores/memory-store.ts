import { type Clock, checkClock, systemClock } from '../../http/clock'
import { storeError } from '../../http/help'
import { optionNames, optionRange } from '../../http/options'
import { Holdings } from '../../http/owners'
import { type Expiring, ExpiryQueues } from './expiry-queues'
import type { ClosableOAuthStore, OAuthStoreClaim, OAuthStoreCount } from './store'

interface Entry extends Expiring {
  readonly key: string
  /** Undefined: it never makes way. */
  readonly owner: string | undefined
  /** Estimate of what it takes. */
  readonly bytes: number
  value: string
  claimedAt?: number
}

/** Options of {@link memoryOAuthStore}. */
export interface MemoryOAuthStoreOptions {
  /**
   * Memory of all entries, in bytes: 10,000 to 16,000,000,000. Default 400,000,000. Beyond it the records of the owner
   * with the most bytes make way, the oldest first; docs/security.md says who owns which record.
   */
  readonly maxBytes?: number | undefined
  /** Default: the system's. */
  readonly clock?: Clock | undefined
}

/**
 * Keeps everything in this process's memory: for one process, and lost with it.
 *
 * Where it is full, the oldest record of the owner that takes most of it makes way: of a user, an app, or the block of
 * addresses of a stranger. Revocations are never dropped: a store full of them refuses new records, and requests that need
 * one are answered 503 until others expire.
 *
 * @example authorizationServer({ store: memoryOAuthStore(), … })
 */
export function memoryOAuthStore(options: MemoryOAuthStoreOptions = {}): ClosableOAuthStore {
  optionNames('memoryOAuthStore', options, ['maxBytes', 'clock'])
  const { maxBytes = 400_000_000, clock = systemClock } = options
  optionRange('maxBytes', maxBytes, 10_000, 16_000_000_000)
  checkClock(clock)
  const entries = new Map<string, Entry>()
  const queues = new ExpiryQueues<Entry>()
  const owned = new Holdings<Entry>()
  let bytes = 0

  return {
    set: (key, value, ttlMs, owner) => settle(() => put(key, value, ttlMs, owner)),
    get: (key, idleMs) => settle(() => read(key, idleMs)),
    claim: (key, keepMs) => settle(() => claim(key, keepMs)),
    count: (key, by, windowMs, owner) => settle(() => count(key, by, windowMs, owner)),
    close: () => Promise.resolve(), // as redisOAuthStore(); the records stay for other servers over this store
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }

  function live(key: string): Entry | undefined {
    const entry = entries.get(key)
    return entry && entry.endsAt > clock.now() ? entry : undefined
  }

  function put(key: string, value: string, ttlMs: number, owner: string | undefined): void {
    const now = clock.now()
    // Two out for one in, so that expired entries do not pile up.
    drop(queues.expiredOf(ttlMs, now))
    drop(queues.expiredInTurn(now))
    const entry: Entry = { key, owner, bytes: bytesOf(key, value), value, endsAt: 0 }
    makeRoom(entry, now)
    drop(entries.get(key))
    queues.put(entry, now, ttlMs)
    entries.set(key, entry)
    bytes += entry.bytes
    if (owner !== undefined) owned.add(owner, entry, entry.bytes)
  }

  function makeRoom(entry: Entry, now: number): void {
    for (;;) {
      const before = entries.get(entry.key) // makes way itself
      if (bytes + entry.bytes - (before?.bytes ?? 0) <= maxBytes) return
      const out = queues.expired(now) ?? (entry.bytes > maxBytes ? undefined : owned.oldestOfHeaviest())
      if (!out) throw storeError(`memoryOAuthStore is full: ${bytes} of ${maxBytes} bytes`, Error)
      drop(out)
    }
  }

  function drop(entry: Entry | undefined): void {
    if (!entry) return
    queues.remove(entry)
    entries.delete(entry.key)
    bytes -= entry.bytes
    if (entry.owner !== undefined) owned.remove(entry.owner, entry)
  }

  function read(key: string, idleMs: number | undefined): string | undefined {
    const entry = live(key)
    if (entry && idleMs !== undefined) {
      queues.put(entry, clock.now(), idleMs)
      if (entry.owner !== undefined) {
        owned.remove(entry.owner, entry)
        owned.add(entry.owner, entry, entry.bytes) // as the newest
      }
    }
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

  function count(key: string, by: number, windowMs: number, owner: string | undefined): OAuthStoreCount {
    const entry = live(key)
    if (!entry) {
      if (by <= 0) return { total: 0, endsInMs: 0 }
      put(key, String(by), windowMs, owner)
      return { total: by, endsInMs: windowMs }
    }
    const total = Number(entry.value) + by
    if (total <= 0) {
      drop(entry)
      return { total: 0, endsInMs: 0 }
    }
    entry.value = String(total)
    return { total, endsInMs: entry.endsAt - clock.now() }
  }
}

/** What an entry takes beside its texts: measured as 420 to 480 bytes on Node 20 to 26. */
const ENTRY_BYTES = 480

/** What a character takes where one of the text is beyond Latin-1: two bytes, and the heap a tenth more of such texts. */
const WIDE_BYTES = 2.2

function bytesOf(key: string, value: string): number {
  const isWide = /[^\0-\xff]/.test(value)
  return ENTRY_BYTES + key.length + Math.ceil(value.length * (isWide ? WIDE_BYTES : 1))
}

/** Each step runs within one turn of the event loop, which makes it atomic. */
function settle<T>(step: () => T): Promise<T> {
  return new Promise((resolve) => resolve(step()))
}

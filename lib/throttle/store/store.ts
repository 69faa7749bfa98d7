import type { UsageStore } from '../../advisor/usage-log'
import type { SubjectDigest } from '../budget/subjects'
import type { Answer, Report } from '../budget/report'
import type { RefusalsMessage } from '../refusals'

declare const opaque: unique symbol

/** The calls of a throttle end within this, whatever the store does; `close()` within the second. In milliseconds. */
export const WAITS_MS = 2_000
export const CLOSING_MS = 3_000

/** Where processes share their windows: made by `redisStore()`. What it does is not for the app. */
export interface ThrottleStore {
  readonly [opaque]: true
  /** Lets go of connections. Safe to call twice. `throttled.close()` calls it. */
  close(): Promise<void>
  /** As `close()`: `await using store = redisStore(url)`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A {@link ThrottleStore} inside: one server, or several that share the subjects out among themselves. */
export interface AccountStore extends UsageStore {
  /** The server that keeps the accounts of the subject with this id now. */
  serverOf(id: string): StoreServer
  /** Reports changes of the servers from now on. */
  watch(watcher: StoreWatcher): void
  /**
   * Names what it keeps, such as a database and a prefix. Two stores of one process that say the same keep the same
   * accounts. Default: nothing is known of it.
   */
  readonly keeps?: string
  /** How a subject's name in the store comes about. Default: SHA-256. */
  readonly digest?: SubjectDigest | undefined
  /** The longest wait of a request for an answer, in milliseconds. Default 70. */
  readonly deadlineMs?: number
  /** Lets go of connections. Safe to call twice. */
  close(): Promise<void>
}

/** A store as the app holds it. */
export function opaqueStore(store: AccountStore): ThrottleStore {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() }) as unknown as ThrottleStore
}

/** The inside of a store that the app gave. */
export function insideOf(store: ThrottleStore): AccountStore {
  return store as unknown as AccountStore
}

/**
 * One server. Its clock decides which window is open. Both methods may reject with any error and may take for ever: the
 * throttle has a deadline of its own.
 */
export interface StoreServer {
  /** Where it is, `host:port`, for warnings where there are several servers; undefined for the only one. */
  readonly name: string | undefined
  /** Where it is, for messages. Default: its name. */
  readonly place?: string
  /** How many reports go in one command, 1 to 100. Default 100. */
  readonly reportsPerCommand?: number
  /**
   * Takes reports of one process in, grants what they ask for, and answers each in order. Each report is atomic, and
   * does nothing where a later one of its process is known.
   *
   * @param process names the process that reports; no two processes have one name
   */
  report(process: string, reports: readonly Report[]): Promise<readonly Answer[]>
  /**
   * A heartbeat of this process.
   *
   * @param refusals what it refuses; undefined: nothing
   * @param terms its windows with their terms, a text for each
   */
  beat(refusals?: RefusalsMessage, terms?: readonly string[]): Promise<Beat>
}

/** What a server says with each heartbeat. */
export interface Beat {
  /** The server's time, in microseconds since 1970. */
  readonly time: number
  /** How many processes it has heard of in the last seconds. Default 1. */
  readonly living?: number
  /** Changes where the server may have lost data: then every process reports everything again. */
  readonly token?: string
  /** Windows with their terms that other living processes have, in the same form. */
  readonly terms?: readonly string[]
}

/** Receives changes of a store's servers. */
export interface StoreWatcher {
  /** The server can be reached now, or again: what it was told before may be gone. */
  ready(server: StoreServer): void
  /** The server keeps no accounts any more. */
  gone(server: StoreServer): void
}

import type { UsageStore } from '../advisor/usage-log'

/** A store that processes share: one server, or several that share the subjects out among themselves. */
export interface ThrottleStore extends UsageStore {
  /** The server that keeps the accounts of the subject with this id now. */
  serverOf(id: string): StoreServer
  /** Says from now on what becomes of the servers. */
  watch(watcher: StoreWatcher): void
  /**
   * Names what it keeps, such as a database and a prefix. Two stores of one process that say the same keep the same
   * accounts. Default: nothing is known of it.
   */
  readonly keeps?: string
  /** Lets go of connections. Safe to call twice. */
  close(): Promise<void>
}

/**
 * One server. Its clock decides which window is open. Both methods may reject with any error and may take for ever: the
 * throttle has a deadline of its own, 70 ms.
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
   * does nothing where a later one of its process is known. docs/stores.md has the rules.
   *
   * @param policy the window's name
   * @param process names the process that reports; no two processes have one name
   */
  report(policy: string, process: string, reports: readonly Report[]): Promise<readonly Answer[]>
  /** A heartbeat of this process. */
  beat(): Promise<Beat>
}

/** What a server says with each heartbeat. */
export interface Beat {
  /** The server's time, in microseconds since 1970. */
  readonly time: number
  /** How many processes it has heard of in the last seconds. Default 1. */
  readonly living?: number
  /** Changes where the server may have lost data: then every process reports everything again. */
  readonly token?: string
}

/** Who is to know what becomes of a store's servers. */
export interface StoreWatcher {
  /** The server can be reached now, or again: what it was told before may be gone. */
  ready(server: StoreServer): void
  /** The server keeps no accounts any more. */
  gone(server: StoreServer): void
}

/**
 * One process's figures in one subject's window, and what it asks for. All figures are absolute: a report may be lost,
 * late or repeated. A report gives up what the process was granted ahead before. Whole microseconds where nothing else is
 * said.
 */
export interface Report {
  /** Who pays, in readable text. A store keeps it only where it was told to. Default: only the hash is known. */
  readonly subject?: string
  /** The subject's hash, which names it in the store, and the window's number. */
  readonly id: string
  readonly number: number
  /** When the window starts and ends, by the server's clock. */
  readonly starts: number
  readonly ends: number
  /** A count: a later report of this process has a higher one. */
  readonly seq: number
  /** The `seq` of the last report that was answered in this window; 0 for none. */
  readonly stored: number
  /** Time that its requests used. */
  readonly used: number
  /** What is left of the prices of its running requests. */
  readonly held: number
  /** Requests that run. */
  readonly running: number
  /** Excused waits for clients. */
  readonly excused: number
  /** Charged and not measured, less a quarter of a limit for each request that was written off. May be negative. */
  readonly added: number
  /** The subject's overshoot in earlier windows, in hundredths of a limit, at least 100. */
  readonly strain: number
  /** Overshoot of the last window that counts in this one. */
  readonly carried: number
  /** When the last window ended, the store had not heard all of this process: strain and carried may be more than it knows. */
  readonly hasNews: boolean
  /** Strain and debt are taken back: `reset()`. */
  readonly clears: boolean
  /** In how many µs the last of its running requests should have ended. */
  readonly lasts: number
  /** What its waiting requests need together, and how many they are. */
  readonly want: number
  readonly count: number
  /** What the first of them needs. */
  readonly unit: number
  /** How much time, and how many places, it likes to have ahead. */
  readonly wish: number
  readonly wishPlaces: number
  /** The limit of the first that waits, or of the latest request. */
  readonly limit: number
  /** What is used beyond the limit is the next window's first use. */
  readonly carries: boolean
}

/** What the server answers to a report. */
export interface Answer {
  /** The server's time, in microseconds since 1970. */
  readonly time: number
  /**
   * `written`: the figures are stored. `closed`: the window is not the open one. `late`: a later report was known, or the
   * figures are gone and the report does not bring them back. `unreadable`: this account cannot be read, others can.
   */
  readonly status: 'written' | 'closed' | 'late' | 'unreadable'
  /** The `seq` that the process's figures had before; 0 where there were none. */
  readonly found: number
  /** Why it is unreadable. */
  readonly cause?: string
  /** Only with `written`. */
  readonly figures?: AnswerFigures
}

/** What a server knows of the other processes, and what it grants. Microseconds and counts. */
export interface AnswerFigures {
  /** The other processes' sums, what was carried over included. */
  readonly used: number
  readonly held: number
  readonly aheadOfOthers: number
  readonly running: number
  readonly excused: number
  readonly added: number
  /** In hundredths of a limit. */
  readonly strain: number
  /** Granted to waiting requests, and how many of them; part of the process's `held` and `running` now. */
  readonly granted: number
  readonly count: number
  /** Time and places that the process has ahead now. */
  readonly ahead: number
  readonly places: number
  /** Overshoot of the last window that is part of `used`. */
  readonly carried: number
  /** All processes' used time before this report, as the answer to the one before left it. Default: `advise()` knows nothing. */
  readonly before?: number
}

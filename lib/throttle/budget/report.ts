/** An active account is looked at this often. */
export const TICK_US = 125_000
/** The store counts a grant ahead for this long after the report that asked for it. */
export const LEASE_US = 6_000_000
/** The process uses the grant for this long after it has sent that report. */
export const GRANT_US = 5_000_000
/** A report about a request whose stopwatch stands still follows the last one after this. */
export const PARKED_US = 2_000_000
/** The store counts a hold for two ticks after its expected end. */
export const GRACE_US = 250_000

/** What is the same in all reports of an account. */
export interface ReportedAccount {
  /** Who pays, in readable text. The store keeps it only where it was told to. */
  readonly subject: string
  /** The subject's hash, which names it in the store. */
  readonly id: string
  /** Where its windows begin, in µs. */
  readonly phase: number
  /** The `seq` of its last report that was answered in this window, a count; 0 for none. */
  readonly stored: number
  readonly terms: {
    /** The window's name. */
    readonly policy: string
    readonly windowUs: number
    /** What is used beyond the limit is the next window's first use. */
    readonly carryOvershoot: boolean
  }
}

/**
 * One process's figures in one subject's window, and what it asks for. All figures are absolute: a report may be lost,
 * late or repeated. A report gives up what the process was granted ahead before. Whole microseconds where nothing else is
 * said.
 */
export interface Report {
  readonly account: ReportedAccount
  /** When the window ends, in µs since 1970 by the server's clock. */
  readonly ends: number
  /** A count: a later report of this process has a higher one. */
  readonly seq: number
  /** Time that its requests used. */
  readonly used: number
  /** What is left of the prices of its running requests. */
  readonly held: number
  /** Requests that run. */
  readonly running: number
  /** Excused waits for clients. */
  readonly excused: number
  /** Counts towards strain beside `used`: a quarter of a limit for each request that was written off unseen. May be negative. */
  readonly unseen: number
  /** The subject's overshoot in earlier windows, in hundredths of a limit, at least 100. */
  readonly strain: number
  /** Overshoot of the last window that counts in this one. */
  readonly carried: number
  /**
   * `known`: the record knows strain and debt best. `news`: when the last window ended, the store had not heard all of this
   * process, so they may be more than the record says. `cleared`: they are taken back by `reset()`.
   */
  readonly past: 'known' | 'news' | 'cleared'
  /** In how many µs the last of its running or waiting requests should have ended. */
  readonly runsForUs: number
  /** Time that its waiting requests need together. */
  readonly neededUs: number
  /** How many requests need it. */
  readonly count: number
  /** Time that the first of them needs. */
  readonly firstNeededUs: number
  /** Time and places that it asks for ahead of need. */
  readonly askedAheadUs: number
  readonly askedAheadPlaces: number
  /** The limit of the first that waits, or the highest of those that ran. */
  readonly limit: number
  /** How many of the subject's requests may run at once, by the same request; else by the latest. A count. */
  readonly concurrency: number
}

/** What the server answers to a report. */
export interface Answer {
  /** The server's time, in microseconds since 1970; 0 where it was not asked, since the report cannot be written. */
  readonly time: number
  /**
   * `written`: the figures are stored. `closed`: the window is not the open one. `late`: a later report was known.
   * `unreadable`: this account cannot be read, others can.
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
  readonly unseen: number
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
  /** All processes' used time before this report, as the answer to the one before left it; 0 in a new window. */
  readonly before?: number
}

/** What the store has of a process: figures of its last report. */
export type Told = Pick<Report, 'used' | 'held' | 'excused' | 'unseen'>

/** Before the first report of a window, and before its answer. */
export const NOTHING_TOLD: Told = { used: 0, held: 0, excused: 0, unseen: 0 }
export const NOTHING_HEARD: AnswerFigures = {
  used: 0,
  held: 0,
  aheadOfOthers: 0,
  running: 0,
  excused: 0,
  unseen: 0,
  strain: 100,
  carried: 0,
  granted: 0,
  count: 0,
  ahead: 0,
  places: 0,
}

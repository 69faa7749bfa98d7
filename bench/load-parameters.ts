/** How much is measured, and how. Fixed before the first run; a change says its reason in the commit. */
export interface LoadParameters {
  /** Each process of a contestant is loaded for a slice of each round, and a row is the median of the rounds of all. */
  readonly rounds: number
  readonly sliceMs: number
  /** So long a server with a Redis has for what a slice leaves it to do: it counts as its own, and disturbs nobody. */
  readonly afterMs: number
  /** Or each contestant by the first load it takes part in. */
  readonly allLoads: boolean
  /** Before the first round, so that code is compiled and connections stand. */
  readonly warmMs: number
  /** Subjects for the figure of memory, and tokens for that of the cache. */
  readonly subjects: number
  readonly tokens: number
  /** Before memory is looked at: requests of one subject, so that what is made once is made. */
  readonly warmRequests: number
  /** In so long the subjects that ask no more are put to rest, all of them. */
  readonly restMs: number
  /** Contestants of more processes than so many are left out. */
  readonly mostProcesses: number
  /** A contestant without a Redis that takes part in several groups is one process in all of them. */
  readonly keepProcesses: boolean
}

export const FULL: LoadParameters = {
  rounds: 9,
  sliceMs: 1_000,
  afterMs: 300,
  allLoads: true,
  warmMs: 2_000,
  subjects: 100_000,
  tokens: 2_000,
  warmRequests: 20_000,
  restMs: 35_000,
  mostProcesses: 100,
  keepProcesses: false,
}

/** Shows that the bench works; its figures say nothing. */
export const QUICK: LoadParameters = {
  rounds: 1,
  sliceMs: 60,
  afterMs: 0,
  allLoads: false,
  warmMs: 20,
  subjects: 2_000,
  tokens: 100,
  warmRequests: 500,
  restMs: 500,
  mostProcesses: 3,
  keepProcesses: true,
}

/** Open at once, each with one request under way. */
export const CONNECTIONS = 32
/** For the latency that is added, and not that of a queue. */
export const ONE_CONNECTION = 1

export const HOT_USER = 'u0'
export const EVEN_USERS = 10_000
export const ZIPF_USERS = 100_000
/** User number n asks in proportion to 1/n. */
export const ZIPF_EXPONENT = 1

/** Nobody reaches it: what is measured is the counting. */
export const LIMIT_MS = 86_400_000
export const LIMIT_REQUESTS = 1_000_000_000
export const WINDOW_MS = 60_000
/** So long that no window ends while requests are refused: 24 days, about as long as a timer can be. */
export const REFUSED_WINDOW_MS = 2_073_600_000

/** Tokens that take turns where none is to be found in the cache, which then has room for a tenth of them. */
export const COLD_TOKENS = 1_000
export const COLD_CACHE = 100
/** Tokens that come before those whose memory is measured. */
export const WARMING_TOKENS = 1_000

/** Where processes share a subject, those that are not measured ask for it themselves, so often. */
export const COMPANION_MS = 1_000

/** Added to each command's way to Redis and back. */
export const REDIS_DELAY_MS = 1

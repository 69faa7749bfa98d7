import type { SyncCommand, SyncReply } from './sync-protocol'

/**
 * What the throttle needs of a store that processes share: one server, or several that share the subjects out among
 * themselves.
 */
export interface ThrottleStore {
  /** The server that keeps the windows of the subject with this id now. */
  shardOf(id: string): StoreShard
  /** Says from now on what becomes of the servers. */
  watch(watcher: StoreWatcher): void
  /**
   * Names what it keeps, such as a database and a prefix. Of two stores of one process that say the same, the first to
   * charge a request to a window is the only one. Default: nothing is known of it.
   */
  readonly keeps?: string
  /**
   * Keeps what requests of a window's routes take, in microseconds, and answers what was said last of each, by whichever
   * process. May reject: nothing depends on it. Default: each process learns by itself, from the start.
   *
   * @param window the window's name
   * @param prices by the routes' ids, of 16 characters; bounds on how many are kept, and how long, are the store's
   */
  sharePrices?(window: string, prices: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>
  /** Lets go of connections. Safe to call twice. */
  close(): Promise<void>
}

/**
 * One server. Its clock is its own: windows are told apart by it alone. Both methods may reject with any error and may
 * take for ever; the throttle has deadlines of its own.
 */
export interface StoreShard {
  /** Says in warnings which server this is, where there are several. */
  readonly name: string | undefined
  /** Where it is, for messages: `host:port`. Default: its name. */
  readonly place?: string
  /** No other server keeps any windows, so that `ThrottleStore.shardOf()` always says this one. Default false. */
  readonly isOnly?: boolean
  /**
   * Publishes a process's figures and brings the others'. Must be atomic, and do nothing for a command that is older
   * than the one it knows.
   *
   * @param window the window's name
   */
  sync(window: string, command: SyncCommand): Promise<SyncReply>
  /**
   * Says the server's time in microseconds, whether it still knows all it was told, and how many processes it has heard
   * lately: default 1. While it does not answer, each process decides within its share.
   */
  beat(): Promise<{ readonly time: number; readonly whole: boolean; readonly processes?: number }>
}

/** Who is to know what becomes of a store's servers. */
export interface StoreWatcher {
  /** The server can be reached now, or again: what it was told before may be gone. */
  ready(shard: StoreShard): void
  /** The server keeps nobody's windows any more. */
  gone(shard: StoreShard): void
}

import type { Command, Reply } from './exchange'

/**
 * What the throttle needs of a store that processes share. Its clock is the store's own: windows are told apart by it
 * alone. Every method may reject with any error and may take for ever; the throttle has deadlines of its own.
 */
export interface ThrottleStore {
  /**
   * Publishes a process's figures and brings the others'. Must be atomic, and do nothing for a command that is older
   * than the one it knows.
   *
   * @param window the window's name
   */
  sync(window: string, command: Command): Promise<Reply>
  /** Says the store's time in microseconds, and whether it still knows all it was told. */
  beat(): Promise<{ readonly time: number; readonly whole: boolean }>
  /** Calls `listener` whenever the store can be reached again. */
  onReady(listener: () => void): void
  /** Lets go of connections. Safe to call twice. */
  close(): Promise<void>
}

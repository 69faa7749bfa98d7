import type { SyncCommand } from '../../lib/throttle/sync/sync-protocol'

/** A process's first command, with nothing charged or asked for, in a window of a minute that began ten seconds ago. */
export function syncCommand(more: Partial<SyncCommand> = {}): SyncCommand {
  const starts = more.starts ?? Date.now() * 1000 - 10_000_000
  const ends = more.ends ?? starts + 60_000_000
  return {
    ...{ id: 's', number: 1, process: 'process1', starts, ends, validUntil: ends },
    ...{ seq: 1, stored: 0, spent: 0, hold: 0, running: 0, want: 0, unit: 0, isAwaited: false, slice: 0, keep: 0 },
    ...{ limit: 1_000_000, tolerance: 0, leaseMs: 251, incarnation: 0, ended: 0, closing: false },
    ...more,
  }
}

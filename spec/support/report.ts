import type { Report } from '../../lib/throttle/budget/report'

/** A process's first report, with nothing used or asked for, in a window of a minute that began ten seconds ago. */
export function reportFor(more: Partial<Report> = {}): Report {
  const starts = more.starts ?? Date.now() * 1_000 - 10_000_000
  return {
    ...{
      policy: 'default',
      id: 's',
      number: 1,
      starts,
      ends: starts + 60_000_000,
      seq: 1,
      stored: 0,
      hasNews: false,
      clears: false,
    },
    ...{ used: 0, held: 0, running: 0, excused: 0, unseen: 0, strain: 100, carried: 0, lasts: 0 },
    ...{ want: 0, count: 0, unit: 0, wish: 0, wishPlaces: 0, limit: 1_000_000, concurrency: 32, carries: false },
    ...more,
  }
}

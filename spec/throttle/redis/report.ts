import type { Report } from '../../../lib/throttle/budget/report'

/** A report's figures, and what is its account's, beside each other. */
export interface Reported extends Partial<Omit<Report, 'account'>> {
  readonly id?: string
  readonly subject?: string
  readonly policy?: string
  readonly phase?: number
  readonly starts?: number
  readonly carries?: boolean
}

/** A process's first report, with nothing used or asked for, in a window of a minute that began ten seconds ago. */
export function reportFor({
  id = 's',
  subject = '',
  policy = 'default',
  phase = 0,
  starts = Date.now() * 1_000 - 10_000_000,
  carries = false,
  ...more
}: Reported = {}): Report {
  const { ends = starts + 60_000_000 } = more
  const terms = { policy, windowUs: ends - starts, carryOvershoot: carries }
  return {
    ...{ account: { subject, id, phase, stored: 0, terms }, ends, seq: 1, past: 'known' },
    ...{ used: 0, held: 0, running: 0, excused: 0, unseen: 0, strain: 100, carried: 0, runsForUs: 0 },
    ...{
      neededUs: 0,
      count: 0,
      firstNeededUs: 0,
      askedAheadUs: 0,
      askedAheadPlaces: 0,
      limit: 1_000_000,
      concurrency: 32,
    },
    ...more,
  }
}

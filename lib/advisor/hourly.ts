import { Histogram } from './histogram'

const HOUR_US = 3_600_000_000
/** A week, so that days can be compared. */
export const HOURS_KEPT = 168

/** Hours between the ends of windows that are open at once, at most: the longest window is 31 days. */
export const OPEN_HOURS = 744

/** The hour that a window belongs to: that of its end, so every process counts it to the same. */
export function hourOf(windowEndsUs: number): number {
  return Math.floor(windowEndsUs / HOUR_US)
}

/** What happened to windows that end within one hour. */
export class HourRecord {
  readonly histogram = new Histogram()
  /** Refused requests. */
  refused = 0

  /**
   * As integers by field, to be added to those of other processes: `HINCRBY`. `c12` counts the subject-windows of bucket 12,
   * `u12` is the sum of their totals in microseconds, `r` counts refused requests.
   */
  fields(): Map<string, number> {
    const fields = new Map<string, number>()
    for (const [index, { count, us }] of this.histogram.buckets) {
      if (count !== 0) fields.set(`c${index}`, count)
      if (us !== 0) fields.set(`u${index}`, us)
    }
    if (this.refused !== 0) fields.set('r', this.refused)
    return fields
  }

  /** Adds what {@link fields} gave, by itself or summed up; fields of another kind are ignored. */
  addFields(fields: Readonly<Record<string, string>> | ReadonlyMap<string, number>): void {
    const entries = fields instanceof Map ? [...(fields as Map<string, number>)] : Object.entries(fields)
    for (const [name, text] of entries) {
      const [, kind, index] = /^([cu])(\d{1,3})$/.exec(name) ?? []
      const value = Number(text)
      if (!Number.isSafeInteger(value)) continue
      if (name === 'r') this.refused += value
      else if (kind === 'c') this.histogram.add(Number(index), value, 0)
      else if (kind === 'u') this.histogram.add(Number(index), 0, value)
    }
  }

  add(other: HourRecord): void {
    this.histogram.addAll(other.histogram)
    this.refused += other.refused
  }
}

/** Records by hour: a process's own until they are written to the store or, without one, those of the last week. */
export class HourlyRecords {
  readonly #hours = new Map<number, HourRecord>()

  /** The record of an hour. Those are dropped that ended more than a week before any window that is open beside it. */
  of(hour: number): HourRecord {
    const known = this.#hours.get(hour)
    if (known !== undefined) return known
    for (const old of this.#hours.keys()) if (old <= hour - HOURS_KEPT - OPEN_HOURS) this.#hours.delete(old)
    const made = new HourRecord()
    this.#hours.set(hour, made)
    return made
  }

  /** The sum of the hours from `first` to `last`, both included. */
  sum(first: number, last: number): HourRecord {
    const sum = new HourRecord()
    for (const [hour, record] of this.#hours) if (hour >= first && hour <= last) sum.add(record)
    return sum
  }

  /** Takes out all that there is, to be written to the store. Put it back with {@link give} where that fails. */
  take(): [hour: number, record: HourRecord][] {
    const taken = [...this.#hours]
    this.#hours.clear()
    return taken
  }

  give(records: readonly [hour: number, record: HourRecord][]): void {
    for (const [hour, record] of records) this.of(hour).add(record)
  }
}

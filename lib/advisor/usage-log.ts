import type { Clock } from '../http/clock'
import { type TimeLimit, TimeoutError } from '../http/deadline'
import { codedError } from '../http/help'
import { HOURS_KEPT, HourRecord, HourlyRecords, hourOf } from './hourly'

/** How often what was counted is added to the store. A killed process loses what it counted since. */
const WRITE_MS = 10_000

/** Where processes add up how much time subjects use. */
export interface UsageStore {
  /**
   * Adds one process's counts of windows that ended in one hour to those of the others, and keeps the sums for a week. May
   * reject: then they are added later. Default: `advise()` knows what this process counted.
   *
   * @param policy the window's name
   * @param hour hours since 1970
   * @param counts integers by field: `c12`, `u12`, `r`
   */
  addUsage?(policy: string, hour: number, counts: ReadonlyMap<string, number>): Promise<void>
  /** The sums of the hours asked for, by field, in order; an hour without any is empty. */
  readUsage?(policy: string, hours: readonly number[]): Promise<readonly Readonly<Record<string, string>>[]>
}

/** Counts how much time subjects used per window of one policy, hour by hour, for `advise()`. */
export class UsageLog {
  readonly #policy: string
  readonly #store: UsageStore | undefined
  readonly #clock: Clock
  readonly #records = new HourlyRecords()
  #isTimed = false
  #writing: Promise<void> | undefined

  constructor(policy: string, store: UsageStore | undefined, clock: Clock) {
    this.#policy = policy
    this.#store = store?.addUsage && store.readUsage ? store : undefined
    this.#clock = clock
  }

  /** Whether the counts are those of all processes. */
  get isShared(): boolean {
    return this.#store !== undefined
  }

  /**
   * A subject-window's total over all processes has changed.
   *
   * @param endsUs when the window ends
   */
  moved(endsUs: number, beforeUs: number, afterUs: number): void {
    this.#records.of(hourOf(endsUs)).histogram.move(beforeUs, afterUs)
    this.#writeLater()
  }

  /**
   * A request was refused.
   *
   * @param endsUs when its window ends
   */
  refused(endsUs: number): void {
    this.#records.of(hourOf(endsUs)).refused++
    this.#writeLater()
  }

  #writeLater(): void {
    if (this.#isTimed || this.#store === undefined) return
    this.#isTimed = true
    this.#clock.after(WRITE_MS, () => {
      this.#isTimed = false
      void this.write()
    })
  }

  /** Adds what was counted to the store. Never rejects: what the store does not take is kept. */
  write(): Promise<void> {
    return (this.#writing ??= this.#write().finally(() => (this.#writing = undefined)))
  }

  /** Writes as {@link write} does, while there is time. */
  async close(time: TimeLimit): Promise<void> {
    await time.within(this.write()).catch(() => undefined)
  }

  async #write(): Promise<void> {
    const store = this.#store
    if (store === undefined) return
    for (const taken of this.#records.take()) {
      const [hour, record] = taken
      try {
        await store.addUsage?.(this.#policy, hour, record.fields())
      } catch {
        this.#records.give([taken])
        this.#writeLater()
      }
    }
  }

  /**
   * What was counted over all processes.
   *
   * @param hours the present one and those before it, 1 to 168; hours in which open windows end are read beside them
   * @param windowMs how long a window is
   * @throws {Error} where the store does not answer in time
   */
  async read(hours: number, windowMs: number, time: TimeLimit): Promise<HourRecord> {
    const last = hourOf(this.#clock.date() * 1_000)
    const first = last - Math.min(hours, HOURS_KEPT) + 1
    const until = last + Math.ceil(windowMs / 3_600_000)
    if (this.#store === undefined) return this.#records.sum(first, until)
    await inTime(this.write(), time)
    const asked = Array.from({ length: until - first + 1 }, (_, i) => first + i)
    const sum = this.#records.sum(first, until)
    for (const fields of await inTime(this.#store.readUsage?.(this.#policy, asked) ?? Promise.resolve([]), time)) {
      sum.addFields(fields)
    }
    return sum
  }
}

function inTime<T>(answer: Promise<T>, time: TimeLimit): Promise<T> {
  return time.within(answer).catch((err: unknown) => {
    if (err instanceof TimeoutError) throw codedError('TOLLGATE_DEGRADED', 'advise(): the store does not answer')
    throw err
  })
}

import type { Calendar } from './calendar'
import { IdleSubjects } from './idle-subjects'
import { type Shard, type SubjectWindow, subjectWindow } from './subject-window'

/** A subject whose figures have not moved for so long is put to rest. */
const REST_AFTER_US = 1_000_000

/** The subject's name in the store and the phase of its windows, both the same in every process. */
export type Identify = (subject: string) => { readonly id: string; readonly phase: number }

/** The subjects a process knows: those of whom something is going on, and those at rest. */
export class SubjectTable {
  readonly active = new Map<string, SubjectWindow>()
  readonly #dormant: IdleSubjects
  readonly #calendar: Calendar
  readonly #identify: Identify
  readonly #shardOf: (id: string) => Shard
  #sweep: IterableIterator<SubjectWindow> | undefined

  constructor(calendar: Calendar, identify: Identify, shardOf: (id: string) => Shard) {
    this.#calendar = calendar
    this.#identify = identify
    this.#shardOf = shardOf
    this.#dormant = new IdleSubjects(calendar.windowUs)
  }

  get size(): number {
    return this.active.size + this.#dormant.size
  }

  knows(subject: string): boolean {
    return this.active.has(subject) || this.#dormant.has(subject)
  }

  /** The subject's standing, as it was left. */
  find(subject: string, now: number): SubjectWindow {
    let s = this.active.get(subject)
    if (s === undefined) {
      const named = this.#identify(subject)
      const shard = this.#shardOf(named.id)
      s = subjectWindow(subject, named, shard, this.#calendar.numberAt(named.phase, shard.clock.at(now)), now)
      const rest = this.#dormant.take(subject)
      if (rest !== undefined) Object.assign(s, rest)
      this.active.set(subject, s)
    }
    return s
  }

  /** All of a shard who have spent time or are spending it, undefined for everybody else. Those at rest are woken. */
  *spenders(shard: Shard, now: number): Generator<SubjectWindow | undefined> {
    const ours = (id: string) => this.#shardOf(id) === shard
    for (const s of this.active.values()) yield (s.spent !== 0 || s.running > 0) && ours(s.id) ? s : undefined
    for (const subject of this.#dormant.spenders()) {
      yield ours(this.#identify(subject).id) ? this.find(subject, now) : undefined
    }
  }

  /**
   * Puts to rest who is idle, and lets go of those of whom nothing is left in the window open now. Looks at no more
   * than `most`, round and round.
   *
   * @param idle has the standing enter the window open now, and says whether nothing is going on
   */
  rest(now: number, most: number, idle: (s: SubjectWindow) => boolean): void {
    this.#dormant.turn(now)
    for (let i = 0; i < most; i++) {
      this.#sweep ??= this.active.values()
      const next = this.#sweep.next()
      if (next.done) {
        this.#sweep = undefined
        return
      }
      const s = next.value
      if (!idle(s) || now - s.touched < REST_AFTER_US) continue
      const { subject, number, spent, othersSpent } = s
      s.left = true
      this.active.delete(subject)
      // Of one who has spent nothing here, only an exceeded limit is worth knowing: it refuses without asking.
      if (spent !== 0 || othersSpent > s.limit) this.#dormant.put(subject, { number, spent, othersSpent })
    }
  }
}

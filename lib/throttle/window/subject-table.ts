import { IdleHistories, IdleSubjects } from './idle-subjects'
import { type Shard, SubjectWindow, type WindowTerms } from './subject-window'

/**
 * A subject whose figures have not moved for so long, or for half a window, is put to rest: sooner where many are active,
 * since each takes a kilobyte, but no sooner than it must, since to wake it takes a tenth of its next request.
 */
const REST_AFTER_US = 30_000_000
const REST_SOON_AFTER_US = 1_000_000
const MANY = 16_384

/** The subject's name in the store and the phase of its windows, both the same in every process. */
export type IdentifySubject = (subject: string) => { readonly id: string; readonly phase: number }

/** The subjects that a process knows: the active ones, for which something is going on, and those at rest. */
export class SubjectTable {
  readonly #active = new Map<string, SubjectWindow>()
  readonly #idle: IdleSubjects
  readonly #histories = new IdleHistories()
  readonly #terms: WindowTerms
  readonly #identify: IdentifySubject
  readonly #shardOf: (id: string) => Shard
  #sweep: IterableIterator<SubjectWindow> | undefined

  constructor(terms: WindowTerms, identify: IdentifySubject, shardOf: (id: string) => Shard) {
    this.#terms = terms
    this.#identify = identify
    this.#shardOf = shardOf
    this.#idle = new IdleSubjects(terms.calendar.windowUs)
  }

  /** Subjects for which something is going on. */
  get active(): ReadonlyMap<string, SubjectWindow> {
    return this.#active
  }

  get size(): number {
    return this.#active.size + this.#idle.size
  }

  knows(subject: string): boolean {
    return this.#active.has(subject) || this.#idle.has(subject)
  }

  /** The subject's window as it was left. */
  find(subject: string, now: number): SubjectWindow {
    let s = this.#active.get(subject)
    if (s === undefined) {
      const figures = this.#idle.take(subject)
      const histories = this.#histories.take(subject)
      const { id, phase } = figures?.phase === undefined ? this.#identify(subject) : { id: '', phase: figures.phase }
      s = new SubjectWindow(subject, id, phase, this.#terms, this.#shardOf(id), now, figures, histories)
      this.#active.set(subject, s)
    }
    return s
  }

  /**
   * The subjects of a shard that have spent time or are spending it, those over their limit first, then the other active
   * ones; undefined for every other one. Wakes idle ones.
   */
  *spenders(shard: Shard, now: number): Generator<SubjectWindow | undefined> {
    const isKept = (id: string) => this.#shardOf(id) === shard
    const isWanted = (s: SubjectWindow) => (s.own.spent !== 0 || s.own.running > 0 || s.ended > 0) && isKept(s.id)
    const over = new Set([...this.#active.values()].filter((s) => s.used(now) > s.limit))
    for (const s of over) yield isWanted(s) ? s : undefined
    for (const s of this.#active.values()) yield !over.has(s) && isWanted(s) ? s : undefined
    for (const subject of this.#idle.spenders()) {
      yield isKept(this.#identify(subject).id) ? this.find(subject, now) : undefined
    }
  }

  /** The active subjects and the idle ones that have spent time, which are woken. */
  *holders(now: number): Generator<SubjectWindow> {
    yield* this.#active.values()
    for (const subject of this.#idle.spenders()) yield this.find(subject, now)
  }

  /**
   * Puts idle subjects to rest, and forgets those of which nothing is left in the window open now. Looks at no more
   * than `most`, round and round.
   *
   * @param isIdle has the subject enter the window open now, and says whether nothing is going on
   */
  rest(now: number, most: number, isIdle: (s: SubjectWindow) => boolean): void {
    this.#idle.turn(now)
    const halfUs = this.#terms.calendar.windowUs / 2 // entering a window counts as moving
    for (let i = 0; i < most; i++) {
      this.#sweep ??= this.#active.values()
      const next = this.#sweep.next()
      if (next.done) {
        this.#sweep = undefined
        return
      }
      const s = next.value
      const isSoon = this.#active.size > MANY || s.limit === 0 // no request has brought its limit: it was woken otherwise
      const restAfterUs = Math.min(halfUs, isSoon ? REST_SOON_AFTER_US : REST_AFTER_US)
      if (!isIdle(s) || now - s.touched < restAfterUs) continue
      this.#active.delete(s.subject)
      const figures = s.evict()
      if (s.histories) this.#histories.put(s.subject, s.histories)
      // Where nothing was spent here, two things are worth keeping: what ended processes have charged, to heal a store
      // that loses it, and an exceeded limit, which refuses without asking.
      const { spent, othersSpent, closed } = figures
      if (spent !== 0 || closed || othersSpent > s.limit) this.#idle.put(s.subject, figures)
    }
  }
}

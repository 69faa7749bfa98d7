import type { Histories } from './hold-prices'
import type { RestingFigures } from './subject-window'

/** A generation is a quarter of a window: what is older than so many belongs to a window that is over. */
const GENERATIONS = 6
const PER_WINDOW = 4
/** Subjects whose histories are kept in each of two generations. */
const MOST_HISTORIES = 10_000

/**
 * Subjects at rest: nothing runs, nothing is to be published. Each is a small object, and a whole generation is dropped
 * at a time, so that a million forged addresses cost little, and nothing a window later.
 */
export class IdleSubjects {
  readonly #generationUs: number
  #generations = [new Map<string, RestingFigures>()]
  #begunAt = 0

  constructor(windowUs: number) {
    this.#generationUs = Math.ceil(windowUs / PER_WINDOW)
  }

  get size(): number {
    let size = 0
    for (const generation of this.#generations) size += generation.size
    return size
  }

  has(subject: string): boolean {
    return this.#generations.some((generation) => generation.has(subject))
  }

  put(subject: string, figures: RestingFigures): void {
    ;(this.#generations[0] as Map<string, RestingFigures>).set(subject, figures)
  }

  /** The subject's figures, which are kept no longer. */
  take(subject: string): RestingFigures | undefined {
    return takeFrom(this.#generations, subject)
  }

  /** Drops what belongs to a window that is over. */
  turn(now: number): void {
    const generations = Math.floor((now - this.#begunAt) / this.#generationUs)
    for (let i = 0; i < Math.min(generations, GENERATIONS); i++)
      this.#generations.unshift(new Map<string, RestingFigures>())
    this.#generations.length = Math.min(this.#generations.length, GENERATIONS)
    if (generations > 0) this.#begunAt = now
  }

  /** All idle subjects that have spent time. */
  *spenders(): Generator<string> {
    for (const generation of [...this.#generations]) {
      for (const [subject, { spent, closed }] of generation) if (spent !== 0 || closed) yield subject
    }
  }
}

/** Histories of subjects at rest: who does not come again before as many others have is forgotten. */
export class IdleHistories {
  #recent = new Map<string, Histories>()
  #earlier = new Map<string, Histories>()

  put(subject: string, histories: Histories): void {
    if (this.#recent.size >= MOST_HISTORIES) {
      this.#earlier = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(subject, histories)
  }

  /** The subject's histories, which are kept here no longer. */
  take(subject: string): Histories {
    return takeFrom([this.#recent, this.#earlier], subject)
  }
}

/** What one of these maps has of the subject, at most, and has no longer. */
function takeFrom<T>(generations: readonly Map<string, T>[], subject: string): T | undefined {
  for (const generation of generations) {
    const kept = generation.get(subject)
    if (kept === undefined) continue
    generation.delete(subject)
    return kept
  }
  return undefined
}

/** What is kept of a subject at rest: enough to go on in its window. Whole microseconds. */
export interface Rest {
  readonly number: number
  readonly spent: number
  readonly othersSpent: number
}

/** A generation is a quarter of a window, so what is older than these is of a window that is over. */
const GENERATIONS = 6
const PER_WINDOW = 4

/**
 * Subjects at rest: nothing runs, nothing is unsaid. A small object each instead of a standing, and dropped a whole
 * generation at a time, so that a million forged addresses cost little, and nothing a window later.
 */
export class IdleSubjects {
  readonly #generationUs: number
  #generations = [new Map<string, Rest>()]
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

  put(subject: string, rest: Rest): void {
    ;(this.#generations[0] as Map<string, Rest>).set(subject, rest)
  }

  /** The subject's rest, which is kept no longer. */
  take(subject: string): Rest | undefined {
    for (const generation of this.#generations) {
      const rest = generation.get(subject)
      if (rest === undefined) continue
      generation.delete(subject)
      return rest
    }
    return undefined
  }

  /** Lets go of what is of a past window. */
  turn(now: number): void {
    const generations = Math.floor((now - this.#begunAt) / this.#generationUs)
    for (let i = 0; i < Math.min(generations, GENERATIONS); i++) this.#generations.unshift(new Map<string, Rest>())
    this.#generations.length = Math.min(this.#generations.length, GENERATIONS)
    if (generations > 0) this.#begunAt = now
  }

  /** All subjects at rest that have spent time. */
  *spenders(): Generator<string> {
    for (const generation of [...this.#generations]) {
      for (const [subject, { spent }] of generation) if (spent !== 0) yield subject
    }
  }
}

import type { Clock } from './clock'
import { Holdings } from './owners'
import { blockOf } from './request/network'

/** Bounds of {@link Places}. */
export interface PlaceBounds {
  /** Tasks that run at once. */
  readonly places: number
  /**
   * Whether a block gets a place only while it runs fewer tasks than there are free places. A block alone gets half of
   * all places, and each of two blocks a third. Some places stay free for whoever comes next. Default false.
   */
  readonly leavesRoom?: boolean
  /** Tasks that wait for a place. */
  readonly mostWaiting: number
  /** Longest wait in milliseconds. Default: no bound. */
  readonly longestWaitMs?: number
}

/** A task that waits. */
interface Waiting {
  /** The lightest of those who ask for it. */
  owner: string
  /** Ends the wait, with a place or without. */
  readonly leave: (hasPlace: boolean) => void
  /** Lets the longest wait begin anew. */
  readonly restart: () => void
}

/** A task that waits or runs, for all who ask for the same. */
interface Shared {
  answer: Promise<unknown>
  /** Set while it waits. */
  waiting: Waiting | undefined
}

/** Owns the app's own tasks: they come after all others, any number of them waits, and all get a place in the end. */
export const THE_APP = 'the app'

/**
 * Limits how many tasks run at once, and how many wait. Each has an owner: a network, whose block counts first, or any
 * other name. A free place goes to the block that runs the fewest tasks. Among equal ones it goes to the block, and then to
 * the network, with the fewest tasks that run or wait, and then to the oldest task. Where too many wait, the last task of
 * the heaviest block's heaviest network makes way for the task of a lighter owner.
 */
export class Places {
  readonly #bounds: PlaceBounds
  readonly #clock: Clock
  /** Running tasks, by block. */
  readonly #running = new Holdings<object>()
  /** Running and waiting tasks, by block and by network. */
  readonly #byBlock = new Holdings<object>()
  readonly #byNetwork = new Holdings<object>()
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>()
  /** Running and waiting tasks by key. */
  readonly #shared = new Map<unknown, Shared>()
  /** The app's own tasks that wait. */
  readonly #appWaiting: (() => void)[] = []

  constructor(bounds: PlaceBounds, clock: Clock) {
    this.#bounds = bounds
    this.#clock = clock
  }

  /** Whether a task with that key runs or waits. */
  has(key: unknown): boolean {
    return this.#shared.has(key)
  }

  /** Tasks that wait, without the app's own. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Whether a task of the owner runs or waits. */
  isBusyFor(owner: string): boolean {
    return this.#byNetwork.of(owner) > 0 || (owner === THE_APP && this.#appWaiting.length > 0)
  }

  /**
   * Runs a task once it has a place. Undefined if it gets none: too many wait, or it waited for too long.
   *
   * @param owner who causes the task: a network, as `clientNetwork()` has it, or {@link THE_APP}
   * @param key shared by tasks with the same answer: one of them runs at a time, for all who ask. Its turn is the
   *   earliest that any of those who ask would get
   */
  run<Answer>(owner: string, task: () => Promise<Answer>, key: unknown = task): Promise<Answer | undefined> {
    const known = this.#shared.get(key)
    if (known) {
      if (known.waiting && owner !== THE_APP) this.#join(known.waiting, owner)
      return known.answer as Promise<Answer | undefined>
    }
    const shared: Shared = { answer: Promise.resolve(), waiting: undefined }
    this.#shared.set(key, shared)
    const answer = this.#begin(owner, task, shared).finally(() => this.#shared.delete(key))
    shared.answer = answer
    return answer
  }

  async #begin<Answer>(owner: string, task: () => Promise<Answer>, shared: Shared): Promise<Answer | undefined> {
    let placeOf: string | undefined = owner
    const take = () => this.#take(owner, shared)
    if (this.#mayRun(owner)) take()
    else if (owner === THE_APP) await new Promise<void>((resolve) => this.#appWaiting.push(() => resolve(take())))
    else placeOf = await this.#wait(owner, shared)
    if (placeOf === undefined) return undefined
    try {
      return await task()
    } finally {
      this.#running.remove(blockOf(placeOf), shared)
      this.#discount(placeOf, shared)
      this.#fill()
    }
  }

  #mayRun(owner: string): boolean {
    const free = this.#bounds.places - this.#running.weight
    return free > 0 && (!this.#bounds.leavesRoom || this.#running.of(blockOf(owner)) < free)
  }

  #take(owner: string, task: object): void {
    this.#running.add(blockOf(owner), task)
    this.#count(owner, task)
  }

  #count(owner: string, task: object): void {
    this.#byBlock.add(blockOf(owner), task)
    this.#byNetwork.add(owner, task)
  }

  #discount(owner: string, task: object): void {
    this.#byBlock.remove(blockOf(owner), task)
    this.#byNetwork.remove(owner, task)
  }

  /** Waits for a place. Resolves with the owner that the place counts for, or with undefined if there is none. */
  #wait(owner: string, shared: Shared): Promise<string | undefined> {
    const { mostWaiting, longestWaitMs } = this.#bounds
    if (this.#waiting.size >= mostWaiting) {
      const last = this.#lastOfHeaviest()
      if (!last || !this.#isLighter(owner, last.owner)) return Promise.resolve(undefined)
      last.leave(false)
    }
    return new Promise((resolve) => {
      let cancel = (): void => undefined
      const leave = (hasPlace: boolean) => {
        cancel()
        this.#waiting.delete(waiting)
        this.#discount(waiting.owner, waiting)
        shared.waiting = undefined
        if (hasPlace) this.#take(waiting.owner, shared)
        resolve(hasPlace ? waiting.owner : undefined)
      }
      const restart = () => {
        cancel()
        if (longestWaitMs !== undefined) cancel = this.#clock.after(longestWaitMs, () => leave(false))
      }
      const waiting: Waiting = { owner, leave, restart }
      shared.waiting = waiting
      this.#waiting.add(waiting)
      this.#count(owner, waiting)
      restart()
    })
  }

  /** Somebody else asks for a waiting task. If that owner's turn comes sooner, the task takes over that turn. */
  #join(waiting: Waiting, owner: string): void {
    if (!this.#isBefore(owner, waiting.owner)) return
    this.#discount(waiting.owner, waiting)
    waiting.owner = owner
    this.#count(owner, waiting)
    waiting.restart()
    this.#fill()
  }

  #fill(): void {
    for (let next = this.#next(); next; next = this.#next()) next.leave(true)
    if (this.#appWaiting.length > 0 && this.#mayRun(THE_APP)) this.#appWaiting.shift()?.()
  }

  /** The waiting task that the next place is for. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (this.#mayRun(waiting.owner) && (!next || this.#isBefore(waiting.owner, next.owner))) next = waiting
    }
    return next
  }

  #isBefore(one: string, other: string): boolean {
    const more = this.#running.of(blockOf(one)) - this.#running.of(blockOf(other))
    return more < 0 || (more === 0 && this.#isLighter(one, other))
  }

  #isLighter(one: string, other: string): boolean {
    const more = this.#byBlock.of(blockOf(one)) - this.#byBlock.of(blockOf(other))
    return more < 0 || (more === 0 && this.#byNetwork.of(one) < this.#byNetwork.of(other))
  }

  #lastOfHeaviest(): Waiting | undefined {
    let last: Waiting | undefined
    for (const waiting of this.#waiting) if (!last || !this.#isLighter(waiting.owner, last.owner)) last = waiting
    return last
  }
}

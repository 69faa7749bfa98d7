import type { Clock } from './clock'
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

/** A block of networks, or any other owner. */
interface Block {
  readonly name: string
  /** Tasks that run. */
  running: number
  /** Tasks that run or wait. */
  tasks: number
}

/** An owner of tasks. */
interface Owner extends Omit<Block, 'running'> {
  readonly block: Block
}

/** A task that waits. */
interface Waiting {
  /** The lightest of those who ask for it. */
  owner: Owner
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
  /** Tasks that run, of all. */
  #running = 0
  /** Those with tasks, by name. A search looks at all that waits, so each knows what it has. */
  readonly #blocks = new Map<string, Block>()
  readonly #owners = new Map<string, Owner>()
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
    return this.#owners.has(owner) || (owner === THE_APP && this.#appWaiting.length > 0)
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
      if (known.waiting && owner !== THE_APP) this.#join(known.waiting, this.#ownerOf(owner))
      return known.answer as Promise<Answer | undefined>
    }
    const shared: Shared = { answer: Promise.resolve(), waiting: undefined }
    this.#shared.set(key, shared)
    const answer = this.#begin(owner, task, shared).finally(() => this.#shared.delete(key))
    shared.answer = answer
    return answer
  }

  async #begin<Answer>(name: string, task: () => Promise<Answer>, shared: Shared): Promise<Answer | undefined> {
    let owner: Owner | undefined = this.#ownerOf(name)
    if (this.#mayRun(owner)) this.#take(owner)
    else if (name === THE_APP) {
      owner = await new Promise<Owner>((resolve) =>
        this.#appWaiting.push(() => resolve(this.#take(this.#ownerOf(name)))),
      )
    } else owner = await this.#wait(owner, shared)
    if (!owner) return undefined
    try {
      return await task()
    } finally {
      this.#running--
      owner.block.running--
      this.#discount(owner)
      this.#fill()
    }
  }

  /** The owner of a name. One without tasks is kept by {@link #count}. */
  #ownerOf(name: string): Owner {
    const known = this.#owners.get(name)
    if (known) return known
    const block = blockOf(name)
    return { name, tasks: 0, block: this.#blocks.get(block) ?? { name: block, running: 0, tasks: 0 } }
  }

  #mayRun({ block }: Owner): boolean {
    const free = this.#bounds.places - this.#running
    return free > 0 && (!this.#bounds.leavesRoom || block.running < free)
  }

  #take(owner: Owner): Owner {
    this.#running++
    owner.block.running++
    this.#count(owner)
    return owner
  }

  #count(owner: Owner): void {
    const { block, name } = owner
    if (owner.tasks++ === 0) this.#owners.set(name, owner)
    if (block.tasks++ === 0) this.#blocks.set(block.name, block)
  }

  #discount(owner: Owner): void {
    const { block, name } = owner
    if (--owner.tasks === 0) this.#owners.delete(name)
    if (--block.tasks === 0) this.#blocks.delete(block.name)
  }

  /** Waits for a place. Resolves with the owner that the place counts for, or with undefined if there is none. */
  #wait(owner: Owner, shared: Shared): Promise<Owner | undefined> {
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
        this.#discount(waiting.owner)
        shared.waiting = undefined
        if (hasPlace) this.#take(waiting.owner)
        resolve(hasPlace ? waiting.owner : undefined)
      }
      const restart = () => {
        cancel()
        if (longestWaitMs !== undefined) cancel = this.#clock.after(longestWaitMs, () => leave(false))
      }
      const waiting: Waiting = { owner, leave, restart }
      shared.waiting = waiting
      this.#waiting.add(waiting)
      this.#count(owner)
      restart()
    })
  }

  /** Somebody else asks for a waiting task. If that owner's turn comes sooner, the task takes over that turn. */
  #join(waiting: Waiting, owner: Owner): void {
    if (!this.#isBefore(owner, waiting.owner)) return
    this.#discount(waiting.owner)
    waiting.owner = owner
    this.#count(owner)
    waiting.restart()
    this.#fill()
  }

  #fill(): void {
    for (let next = this.#next(); next; next = this.#next()) next.leave(true)
    if (this.#appWaiting.length > 0 && this.#mayRun(this.#ownerOf(THE_APP))) this.#appWaiting.shift()?.()
  }

  /** The waiting task that the next place is for. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (this.#mayRun(waiting.owner) && (!next || this.#isBefore(waiting.owner, next.owner))) next = waiting
    }
    return next
  }

  #isBefore(one: Owner, other: Owner): boolean {
    const more = one.block.running - other.block.running
    return more < 0 || (more === 0 && this.#isLighter(one, other))
  }

  #isLighter(one: Owner, other: Owner): boolean {
    const more = one.block.tasks - other.block.tasks
    return more < 0 || (more === 0 && one.tasks < other.tasks)
  }

  #lastOfHeaviest(): Waiting | undefined {
    let last: Waiting | undefined
    for (const waiting of this.#waiting) if (!last || !this.#isLighter(waiting.owner, last.owner)) last = waiting
    return last
  }
}

import type { Clock } from './clock'
import { blockOf } from './request/network'

/** Bounds of a {@link FairQueue}. */
export interface QueueBounds {
  /** Tasks that run at once. */
  readonly slots: number
  /**
   * Whether a block gets a slot only while it runs fewer tasks than there are free slots. A block alone gets half of
   * all slots, and each of two blocks a third. Some slots stay free for whoever comes next. Default false.
   */
  readonly leavesRoom?: boolean
  /** Tasks that wait for a slot. */
  readonly mostWaiting: number
  /** Longest wait in milliseconds. Default: no bound. */
  readonly longestWaitMs?: number
}

/** Who asks for a task. */
interface Stranger {
  readonly network: string
  readonly block: string
}

/** A task that waits for a slot. */
interface Waiting {
  /** The lightest of those who ask for it. */
  from: Stranger
  /** Ends the wait, with a slot or without. */
  readonly leave: (hasSlot: boolean) => void
  /** Lets the longest wait begin anew. */
  readonly restart: () => void
}

/** A task that waits or runs, for all who ask for the same. */
interface Shared {
  answer: Promise<unknown>
  /** Set while it waits. */
  waiting: Waiting | undefined
}

/** Asks for the app's own tasks. */
const APP: Stranger = { network: '', block: '' }
/** This many tasks of a block weigh as much for each of its networks as one task of that network. */
const BLOCK_WEIGHT = 20

/**
 * Limits how many tasks of strangers run at once, and how many wait. A free slot goes to the block with the fewest
 * running tasks. Among equal blocks it goes to the network that asked for the fewest tasks in the last minute or two,
 * then to the oldest task. If the queue is full, the network that asked for the most tasks loses its last
 * waiting one to a new task whose network asked for fewer.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #clock: Clock
  /** Running tasks by block; a block without one is absent. */
  readonly #running = new Map<string, number>()
  #taken = 0
  /** In the order in which they came. */
  readonly #waiting: Waiting[] = []
  /** Running and waiting tasks by key. */
  readonly #shared = new Map<unknown, Shared>()
  /** The app's own tasks that wait. */
  readonly #appWaiting: (() => void)[] = []
  readonly #byNetwork: RecentTasks
  readonly #byBlock: RecentTasks

  constructor(bounds: QueueBounds, clock: Clock) {
    this.#bounds = bounds
    this.#clock = clock
    this.#byNetwork = new RecentTasks(clock)
    this.#byBlock = new RecentTasks(clock)
  }

  /** Whether a task with that key runs or waits. */
  has(key: unknown): boolean {
    return this.#shared.has(key)
  }

  /** Strangers' tasks that wait. */
  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Runs a task once it has a slot. Undefined if it gets none: too many wait, or it waited for too long.
   *
   * @param network the stranger's, as `clientNetwork()` has it. Undefined: the app itself asks; its tasks come after those
   *   of strangers, and all of them get a slot in the end
   * @param key shared by tasks with the same answer: one of them runs at a time, for all who ask. Its turn is the
   *   earliest that any of those who ask would get
   */
  run<Answer>(
    network: string | undefined,
    task: () => Promise<Answer>,
    key: unknown = task,
  ): Promise<Answer | undefined> {
    const from = network === undefined ? APP : { network, block: blockOf(network) }
    const known = this.#shared.get(key)
    if (known) {
      if (known.waiting && from !== APP) this.#join(known.waiting, from)
      return known.answer as Promise<Answer | undefined>
    }
    this.#byNetwork.note(from.network)
    this.#byBlock.note(from.block)
    const shared: Shared = { answer: Promise.resolve(), waiting: undefined }
    this.#shared.set(key, shared)
    const answer = this.#begin(from, task, shared).finally(() => this.#shared.delete(key))
    shared.answer = answer
    return answer
  }

  async #begin<Answer>(from: Stranger, task: () => Promise<Answer>, shared: Shared): Promise<Answer | undefined> {
    let slotOf: Stranger | undefined = from
    if (this.#mayRun(from)) this.#take(from)
    else if (from === APP) await new Promise<void>((resolve) => this.#appWaiting.push(resolve))
    else slotOf = await this.#wait(from, shared)
    return slotOf && this.#work(task, slotOf)
  }

  async #work<Answer>(task: () => Promise<Answer>, { block }: Stranger): Promise<Answer> {
    try {
      return await task()
    } finally {
      this.#taken--
      const left = this.#runningOf(block) - 1
      if (left > 0) this.#running.set(block, left)
      else this.#running.delete(block)
      this.#fillSlots()
    }
  }

  #runningOf(block: string): number {
    return this.#running.get(block) ?? 0
  }

  #mayRun({ block }: Stranger): boolean {
    const free = this.#bounds.slots - this.#taken
    return free > 0 && (!this.#bounds.leavesRoom || this.#runningOf(block) < free)
  }

  #take({ block }: Stranger): void {
    this.#taken++
    this.#running.set(block, this.#runningOf(block) + 1)
  }

  /** Waits for a slot. Resolves with the stranger that the slot counts for, or with undefined if there is none. */
  #wait(from: Stranger, shared: Shared): Promise<Stranger | undefined> {
    const { mostWaiting, longestWaitMs } = this.#bounds
    if (this.#waiting.length >= mostWaiting) {
      const heaviest = this.#heaviest()
      if (!heaviest || this.#weight(from) >= this.#weight(heaviest.from)) return Promise.resolve(undefined)
      heaviest.leave(false)
    }
    return new Promise((resolve) => {
      let cancel = (): void => undefined
      const leave = (hasSlot: boolean) => {
        cancel()
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        shared.waiting = undefined
        resolve(hasSlot ? waiting.from : undefined)
      }
      const restart = () => {
        cancel()
        if (longestWaitMs !== undefined) cancel = this.#clock.after(longestWaitMs, () => leave(false))
      }
      const waiting: Waiting = { from, leave, restart }
      shared.waiting = waiting
      this.#waiting.push(waiting)
      restart()
    })
  }

  /** Another stranger asks for a waiting task. If that stranger's turn comes sooner, the task takes over that turn. */
  #join(waiting: Waiting, from: Stranger): void {
    if (!this.#isBefore(from, waiting.from)) return
    waiting.from = from
    waiting.restart()
    this.#fillSlots()
  }

  #fillSlots(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#take(next.from)
      next.leave(true)
    }
    if (this.#appWaiting.length === 0 || !this.#mayRun(APP)) return
    this.#take(APP)
    this.#appWaiting.shift()?.()
  }

  /** The waiting task that the next slot is for. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined
    for (const waiting of this.#waiting) {
      if (this.#mayRun(waiting.from) && (!next || this.#isBefore(waiting.from, next.from))) next = waiting
    }
    return next
  }

  #isBefore(one: Stranger, other: Stranger): boolean {
    const more = this.#runningOf(one.block) - this.#runningOf(other.block)
    return more < 0 || (more === 0 && this.#weight(one) < this.#weight(other))
  }

  /** The last task of the heaviest network. */
  #heaviest(): Waiting | undefined {
    const weights = this.#waiting.map(({ from }) => this.#weight(from))
    return this.#waiting[weights.lastIndexOf(Math.max(...weights))]
  }

  /** The network's own tasks, and a part of those of its block: a host may have many addresses. */
  #weight({ network, block }: Stranger): number {
    return this.#byNetwork.count(network) + this.#byBlock.count(block) / BLOCK_WEIGHT
  }
}

/** Most names in one generation of counts, and its length. Two generations are kept: the present and the one before. */
const MOST_NAMES = 10_000
const REMEMBERED_MS = 60_000

/** Counts recent tasks by name. */
class RecentTasks {
  readonly #clock: Clock
  #now = new Map<string, number>()
  #before = new Map<string, number>()
  #turnAt = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(name: string): void {
    const now = this.#clock.now()
    if (now >= this.#turnAt || this.#now.size > MOST_NAMES) {
      this.#before = now >= this.#turnAt + REMEMBERED_MS ? new Map<string, number>() : this.#now
      this.#now = new Map()
      this.#turnAt = now + REMEMBERED_MS
    }
    this.#now.set(name, (this.#now.get(name) ?? 0) + 1)
  }

  count(name: string): number {
    return (this.#now.get(name) ?? 0) + (this.#before.get(name) ?? 0)
  }
}

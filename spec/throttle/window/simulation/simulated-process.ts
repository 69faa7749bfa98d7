import type { Clock } from '../../../../lib/http/clock'
import type { EventLoop } from './event-loop'
import { ProcessWindow, type WindowOptions } from './process-window'
import type { Network } from './network'
import type { Random } from './random'
import { EPOCH_US, type SimulatedRedis } from './simulated-redis'
import { SimulatedStore, type StoreChanges } from './simulated-store'

export interface World {
  readonly loop: EventLoop
  readonly random: Random
  readonly redis: SimulatedRedis
  readonly network: Network
  readonly window: WindowOptions
  /** Clocks run faster or slower by at most this share. */
  readonly drift: number
  /** How far a process's wall clock may be off, in microseconds. */
  readonly wallErrorUs: number
  /** Changes commands and replies on their way: for mutants. */
  readonly changes: StoreChanges
}

/** A process with clocks of its own, its throttle, and a connection to Redis. */
export class SimulatedProcess implements Clock {
  isDead = false
  /** When it ended, in simulated time. */
  diedUs = Infinity
  /** The same by its own clock. */
  ownDiedUs = Infinity
  /** When its end began. */
  closingUs = Infinity
  /** Its monotonic clock stood still for a while. */
  stoodStill = false
  /** It was closed, and has said so to Redis as far as it could. */
  isClosed = false
  /** Cut off from Redis: what it sends and what it is sent gets lost. */
  isPartitioned = false
  /** When it last was let go on, having been stopped. */
  resumedUs = -Infinity
  readonly bornUs: number
  readonly window: ProcessWindow
  readonly store: SimulatedStore
  readonly #loop: EventLoop
  readonly #rate: number
  readonly #wallOffsetMs: number
  #offsetUs: number
  /** What its monotonic clock shows while it stands still. */
  #standsAtUs: number | undefined
  /** While it is stopped: what is to happen when it goes on, timers first. */
  #stopped: { readonly timers: (() => void)[]; readonly messages: (() => void)[] } | undefined

  constructor(
    readonly id: string,
    world: World,
  ) {
    const { loop, random, drift, wallErrorUs } = world
    this.#loop = loop
    this.bornUs = loop.now
    this.#rate = 1 + (random.fraction() * 2 - 1) * drift
    this.#offsetUs = Math.floor(random.fraction() * 1e9)
    const errorUs = (random.fraction() * 2 - 1) * wallErrorUs
    this.#wallOffsetMs = (world.redis.timeUs() - loop.now + errorUs - EPOCH_US) / 1_000
    this.store = new SimulatedStore(this, world)
    this.window = new ProcessWindow(this, this.store, world.window)
  }

  // --- its clocks

  now(): number {
    return this.nowUs() / 1_000
  }

  date(): number {
    return EPOCH_US / 1_000 + this.#loop.now / 1_000 + this.#wallOffsetMs
  }

  /** Its monotonic clock, in microseconds. */
  nowUs(): number {
    return this.#standsAtUs ?? Math.round(this.#loop.now * this.#rate + this.#offsetUs)
  }

  after(ms: number, fn: () => void): () => void {
    const timer: { fn: (() => void) | undefined } = { fn }
    this.#loop.after((ms * 1_000) / this.#rate, () => {
      if (timer.fn === undefined || this.isDead) return
      if (this.#stopped) this.#stopped.timers.push(() => timer.fn?.())
      else timer.fn()
    })
    return () => {
      timer.fn = undefined
    }
  }

  // --- what happens to it

  get isStopped(): boolean {
    return this.#stopped !== undefined
  }

  /** Something reaches it from outside. */
  receive(run: () => void): void {
    if (this.isDead) return
    if (this.#stopped) this.#stopped.messages.push(run)
    else run()
  }

  /** Stops it. With the whole machine its monotonic clock stands still, too. */
  stop(us: number, withMachine: boolean): void {
    if (this.#stopped || this.isDead) return
    const stopped = { timers: [], messages: [] }
    this.#stopped = stopped
    this.stoodStill ||= withMachine
    if (withMachine) this.#standsAtUs = this.nowUs()
    this.#loop.after(us, () => {
      this.#stopped = this.#standsAtUs = undefined
      this.resumedUs = this.#loop.now
      if (withMachine) this.#offsetUs -= us * this.#rate
      for (const run of [...stopped.timers, ...stopped.messages] as (() => void)[]) {
        this.#loop.after(0, () => {
          if (!this.isDead) run()
        })
      }
    })
  }

  kill(): void {
    if (this.isDead) return
    this.isDead = true
    this.diedUs = this.#loop.now
    this.ownDiedUs = this.nowUs()
    this.window.note()
  }

  /** Ends as after SIGTERM, once its requests have: hands its charges over and is gone. */
  async close(): Promise<void> {
    this.closingUs = this.#loop.now
    this.#loop.hasMicrotasks = true
    await this.window.close()
    if (this.isDead) return
    this.isClosed = true
    this.kill()
  }
}

import type { EventLoop } from './event-loop'
import { Host, type WindowOptions, type WindowTotal } from './host'
import { type Network, send } from './network'
import type { Random } from './random'
import type { SimulatedRedis } from './simulated-redis'

export interface World {
  readonly loop: EventLoop
  readonly random: Random
  readonly redis: SimulatedRedis
  readonly network: Network
  readonly window: WindowOptions
  /** Clocks run faster or slower by at most this share. */
  readonly drift: number
}

/** A process with a clock of its own; its throttle is the Host. */
export class SimulatedProcess {
  isDead = false
  /** Cut off from Redis: what it sends and what it is sent gets lost. */
  isPartitioned = false
  readonly host: Host
  readonly #world: World
  readonly #drift: number
  readonly #offsetUs: number
  #final: WindowTotal[] | undefined

  constructor(
    readonly id: string,
    world: World,
  ) {
    this.#world = world
    this.#drift = world.drift ? (world.random.fraction() * 2 - 1) * world.drift : 0
    this.#offsetUs = Math.floor(world.random.fraction() * 1e9)
    const clockErrorUs = (world.random.fraction() * 2 - 1) * (world.window.clockErrorUs ?? 300_000)
    this.host = new Host(this, world.redis, world.window, clockErrorUs)
  }

  /** Its monotonic clock, in microseconds. */
  nowUs(): number {
    return this.#world.loop.now * (1 + this.#drift) + this.#offsetUs
  }

  /** The simulation's time at one of its own. */
  simulatedUs(ownUs: number): number {
    return (ownUs - this.#offsetUs) / (1 + this.#drift)
  }

  after(us: number, run: () => void): void {
    this.#world.loop.after(us / (1 + this.#drift), () => {
      if (!this.isDead) run()
    })
  }

  send<T>(execute: () => T, receive: (reply: T) => void): void {
    if (this.isPartitioned) return
    send(this.#world, this.#world.network, execute, (reply) => {
      if (!this.isDead && !this.isPartitioned) receive(reply)
    })
  }

  kill(): void {
    this.isDead = true
    this.#final = this.host.totals()
  }

  /** What each of a subject's windows came to here, the one that is open now included. */
  windowsOf(subject: string): WindowTotal[] {
    return [...this.host.left, ...(this.#final ?? this.host.totals())].filter((window) => window.subject === subject)
  }
}

import type { Ticket } from '../../../../lib/throttle/window/decision'
import { EventLoop } from './event-loop'
import type { Refused, WindowOptions } from './host'
import type { Network } from './network'
import { Random } from './random'
import { SimulatedProcess, type World } from './simulated-process'
import { SimulatedRedis } from './simulated-redis'

export interface Scenario {
  readonly processes: number
  readonly network: Network
  readonly window: WindowOptions
  /** Clocks run faster or slower by at most this share; default 0. */
  readonly drift?: number
  readonly untilUs: number
  /** The share of refused requests that come once more, when they were told to; default 0. */
  readonly retried?: number
  /** The processes do not see that Redis was replaced, as behind a proxy. */
  readonly reconnectsUnseen?: boolean
  /** What laws.ts holds a run to; without it, laws that know no bound. */
  readonly bounds?: Bounds
  /** How far the processes may differ about where a window ends; default 2 ms. */
  readonly boundaryUs?: number
  begin(simulation: Simulation): void
}

export interface Bounds {
  /** Work beyond the limit that no running request explains. */
  readonly overLimitUs: number
  /** Admissions after the limit was reached. */
  readonly lateUs: number
}

interface Asked {
  readonly subject: string
  readonly us: number
  /** Undefined: a route that is not known yet. */
  readonly estimateUs: number | undefined
  /** Undefined: any. */
  readonly process?: number | undefined
}

/** A request that was admitted. Simulated time, but for the two that are the process's own. */
export interface Served {
  readonly subject: string
  readonly us: number
  readonly process: SimulatedProcess
  /** From when on it is charged. */
  readonly startUs: number
  readonly decidedUs: number
  readonly ownStartUs: number
  endUs?: number
  ownEndUs?: number
}

/** A request that came again when it was told to, and was refused again. */
export interface RefusedAgain {
  readonly subject: string
  readonly atUs: number
  readonly told: Refused
  readonly then: Refused
}

/** Processes with the real engine over a Redis and a network that are simulated; the same seed gives the same run. */
export class Simulation {
  readonly loop = new EventLoop()
  readonly redis = new SimulatedRedis(this.loop)
  readonly random: Random
  /** Those that run; a restart replaces one. */
  readonly processes: SimulatedProcess[] = []
  readonly everyProcess: SimulatedProcess[] = []
  readonly served: Served[] = []
  readonly refusedAgain: RefusedAgain[] = []
  /** When some process could not reach Redis. */
  readonly outages: { readonly fromUs: number; readonly toUs: number }[] = []
  retries = 0
  readonly #world: World

  constructor(
    seed: number,
    readonly scenario: Scenario,
  ) {
    this.random = new Random(seed)
    const { network, window, drift = 0 } = scenario
    this.#world = { loop: this.loop, random: this.random, redis: this.redis, network, window, drift }
    for (let i = 0; i < scenario.processes; i++) this.processes.push(this.#start())
    if (!scenario.reconnectsUnseen) this.redis.replaced.push(() => this.#reconnect())
    scenario.begin(this)
    this.loop.run(scenario.untilUs)
  }

  #start(): SimulatedProcess {
    const process = new SimulatedProcess(`p${this.everyProcess.length + 1}`, this.#world)
    this.everyProcess.push(process)
    return process
  }

  #reconnect(): void {
    for (const process of this.processes) {
      this.loop.after(this.random.exponential(20_000), () => {
        if (!process.isDead) process.host.republish()
      })
    }
  }

  restart(i: number): void {
    const process = this.processes[i] as SimulatedProcess
    process.kill()
    for (const one of this.served) if (one.process === process) one.endUs ??= this.loop.now
    this.processes[i] = this.#start()
  }

  request(asked: Asked, told?: Refused): void {
    const process = this.processes[asked.process ?? this.random.int(0, this.processes.length - 1)] as SimulatedProcess
    process.host.admit(
      asked.subject,
      asked.estimateUs,
      (ticket) => this.#serve(asked, process, ticket),
      (why) => {
        if (told) {
          this.retries++
          this.refusedAgain.push({ subject: asked.subject, atUs: this.loop.now, told, then: why })
        }
        const again = this.random.chance(this.scenario.retried ?? 0)
        if (again && !told)
          this.loop.after(why.retryAfterSec * 1e6, () => this.request({ ...asked, process: undefined }, why))
      },
    )
  }

  #serve({ subject, us }: Asked, process: SimulatedProcess, ticket: Ticket): void {
    const { start } = ticket
    const one: Served = {
      ...{ subject, us, process, ownStartUs: start },
      ...{ startUs: process.simulatedUs(start), decidedUs: this.loop.now },
    }
    this.served.push(one)
    this.loop.after(us, () => {
      if (process.isDead) return
      one.endUs = this.loop.now
      process.host.settle(ticket)
      one.ownEndUs = process.host.nowUs()
    })
  }
}

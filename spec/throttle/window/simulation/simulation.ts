import { mock } from 'node:test'
import { EventLoop } from './event-loop'
import type { ScriptRules } from './model'
import type { Network } from './network'
import type { WindowOptions } from './process-window'
import { Random } from './random'
import { SimulatedProcess, type World } from './simulated-process'
import { SimulatedRedis } from './simulated-redis'
import { type Asked, type Refused, SimulatedRequest } from './simulated-request'
import type { StoreChanges } from './simulated-store'
import { Watch } from './watch'

export interface Scenario {
  readonly processes: number
  readonly network: Network
  readonly window: WindowOptions
  /** Clocks run faster or slower by at most this share; default 0. */
  readonly drift?: number
  /** How far a process's wall clock may be off; default 300 ms. */
  readonly wallErrorUs?: number
  readonly untilUs: number
  /** The share of refused requests that come once more, when they were told to; default 0. */
  readonly retried?: number
  /** The processes do not see that Redis was replaced, as behind a proxy. */
  readonly reconnectsUnseen?: boolean
  /** What runs with a network that loses nothing, and no faults, are held to besides. */
  readonly bounds?: Bounds
  /** For so long at most a request waits that would fit; default: that is not looked at. */
  readonly idleUs?: number
  /** How late Redis may be about what a process has spent, once nothing has gone wrong for a while. */
  readonly lagUs: number
  /** How far the processes may differ about where a window ends. */
  readonly boundaryUs: number
  begin(simulation: Simulation): void
}

export interface Bounds {
  /** Work beyond the limit that no running request explains. */
  readonly overLimitUs: number
  /** Admissions after the limit was reached. */
  readonly lateUs: number
}

/** Something that went wrong, and until when. */
export interface Fault {
  readonly fromUs: number
  toUs: number
  /** data: Redis lost what it had. rollback: it went back to what it had before. */
  readonly kind: 'data' | 'rollback' | 'reach' | 'stop' | 'kill' | 'close' | 'clock' | 'damage'
  /** Of a loss: what the living processes had heard of the charges of ended ones. */
  readonly known?: readonly { readonly process: SimulatedProcess; readonly key: string; readonly ended: number }[]
}

/** Does something otherwise than the real code, in the script's model or between a process and Redis. */
export interface Changes extends StoreChanges {
  readonly rules?: ScriptRules
}

/** A process takes requests when it has been up for so long. */
const READY_US = 50_000
/** Requests that run when a process is to end may go on for so long. */
const DRAIN_US = 1_000_000

/** Processes with the real engine over a Redis and a network that are simulated; the same seed gives the same run. */
export class Simulation {
  readonly loop = new EventLoop()
  readonly redis: SimulatedRedis
  readonly random: Random
  /** Those that take requests; a restart replaces one. */
  readonly processes: SimulatedProcess[] = []
  readonly everyProcess: SimulatedProcess[] = []
  readonly served: SimulatedRequest[] = []
  readonly refusals: SimulatedRequest[] = []
  readonly faults: Fault[] = []
  readonly watch: Watch
  retries = 0
  readonly #world: World

  constructor(
    seed: number,
    readonly scenario: Scenario,
    changes: Changes = {},
  ) {
    this.random = new Random(seed)
    this.redis = new SimulatedRedis(this.loop, changes.rules)
    this.watch = new Watch(this)
    const { network, window, drift = 0, wallErrorUs = 300_000 } = scenario
    const { loop, random, redis } = this
    this.#world = { loop, random, redis, network, window, drift, wallErrorUs, changes }
    for (let i = 0; i < scenario.processes; i++) this.processes.push(this.#start())
    redis.shrunk = (found) => {
      // A window that Redis's clock was set back to is entered again, with the figures of the one that was open.
      const isSetBack = this.faults.some(({ kind }) => kind === 'clock')
      if (!isSetBack) this.watch.found('a figure never shrinks within its window', found)
    }
    if (!scenario.reconnectsUnseen) redis.replaced.push(() => this.#reconnect())
  }

  async run(): Promise<this> {
    const { scenario, loop, watch } = this
    // Outages are warned of, which is neither of interest here nor cheap.
    const warnings = mock.method(process, 'emitWarning', () => undefined)
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    try {
      scenario.begin(this)
      watch.begin()
      await loop.run(scenario.untilUs)
    } finally {
      warnings.mock.restore()
      Error.stackTraceLimit = stackTraceLimit
    }
    for (const each of this.everyProcess) if (!each.isDead) each.window.note()
    return this
  }

  #start(): SimulatedProcess {
    const process = new SimulatedProcess(`p${this.everyProcess.length + 1}`, this.#world)
    this.everyProcess.push(process)
    return process
  }

  #reconnect(): void {
    for (const process of this.processes) {
      this.loop.after(this.random.exponential(20_000), () => process.store.reconnected())
    }
  }

  fault(kind: Fault['kind'], us = 0): Fault {
    const isLoss = kind === 'data' || kind === 'rollback'
    const { now } = this.loop
    const fault = { kind, fromUs: now, toUs: now + us, ...(isLoss && { known: this.#endedKnown() }) }
    this.faults.push(fault)
    return fault
  }

  #endedKnown() {
    return this.everyProcess
      .filter(({ isDead }) => !isDead)
      .flatMap((process) => [...process.store.endedKnown].map(([key, { ended }]) => ({ process, key, ended })))
  }

  /** Another process takes the place of this one. */
  replace(i: number, how: 'kill' | 'close'): void {
    const { loop } = this
    const process = this.processes[i] as SimulatedProcess
    this.processes[i] = this.#start()
    if (how === 'kill') {
      this.fault('kill')
      return process.kill()
    }
    const until = loop.now + DRAIN_US
    const fault = this.fault('close', Infinity)
    const closeWhenIdle = () => {
      if (process.isDead) return
      const isBusy = process.isStopped || (loop.now < until && this.watch.isBusy(process))
      if (isBusy) return loop.after(20_000, closeWhenIdle)
      void process.close().then(() => (fault.toUs = loop.now))
    }
    closeWhenIdle()
  }

  readonly request = (asked: Asked, told?: Refused): void => {
    const { loop, random, processes } = this
    const process = processes[asked.process ?? random.int(0, processes.length - 1)] as SimulatedProcess
    const readyInUs = process.bornUs + READY_US - loop.now
    if (readyInUs > 0) return loop.after(readyInUs, () => this.#ask(process, asked, told))
    this.#ask(process, asked, told)
  }

  #ask(process: SimulatedProcess, asked: Asked, told: Refused | undefined): void {
    process.receive(() => {
      const request = new SimulatedRequest(this, process, asked, told)
      this.watch.asks(request)
      const verdict = process.window.admit(asked.subject, request)
      if (!('until' in verdict)) return request.decided(verdict)
      if (verdict.isConsidered) request.waits()
      const { patienceUs } = asked
      if (patienceUs !== undefined) this.loop.after(patienceUs, () => (request.gone = !request.isDecided))
    })
  }

  refused(request: SimulatedRequest, why: Refused): void {
    const { asked, told } = request
    this.refusals.push(request)
    if (told) {
      this.retries++
      return
    }
    const again = this.random.happens(this.scenario.retried)
    if (again) this.loop.after(why.retryAfterSec * 1e6, () => this.request({ ...asked, process: undefined }, why))
  }
}

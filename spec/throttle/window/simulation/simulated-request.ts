import type { Applicant, Decision, RefusalReason, Ticket, WaitRule } from '../../../../lib/throttle/window/decision'
import { wholeSeconds } from '../../../../lib/throttle/window/retry-after'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'

export interface Asked {
  readonly subject: string
  readonly us: number
  /** Undefined: a route that is not known yet. */
  readonly estimateUs: number | undefined
  readonly limitUs: number
  /** After so long its client goes away, unless it was decided; undefined: never. */
  readonly patienceUs?: number | undefined
  /** Undefined: any. */
  readonly process?: number | undefined
}

/** What a refused request is told, and how much the process knew. */
export interface Refused {
  readonly reason: RefusalReason
  readonly retryAfterSec: number
  /** The end of the window that refused, by Redis's clock. */
  readonly endUs: number
  /** Whether the process has heard Redis's clock. */
  readonly knowsTime: boolean
  readonly isDown: boolean
}

/** What a route that is not known yet is priced at, at most. */
const COLD_US = 3_000_000
const NO_WAIT: WaitRule = { maxUs: 0, perSubject: 0 }
const TIME_KNOWN_US = 500_000

/** A request to one process, from the moment it asks. Times are simulated, but for the process's own. */
export class SimulatedRequest implements Applicant {
  readonly limitUs: number
  readonly wait: WaitRule
  readonly askedUs: number
  readonly ownAskedUs: number
  gone = false
  isDecided = false
  /** When it was told to wait for room. */
  waitsUs: number | undefined
  decidedUs = Infinity
  refused: Refused | undefined
  /** Of one that was admitted. */
  ticket: Ticket | undefined
  startUs = 0
  ownStartUs = 0
  endUs: number | undefined
  ownEndUs: number | undefined

  constructor(
    readonly simulation: Simulation,
    readonly process: SimulatedProcess,
    readonly asked: Asked,
    /** Why it was refused before, where it comes again. */
    readonly told?: Refused,
  ) {
    this.limitUs = asked.limitUs
    this.wait = simulation.scenario.window.wait ?? NO_WAIT
    this.askedUs = simulation.loop.now
    this.ownAskedUs = process.nowUs()
  }

  price(): number {
    return this.asked.estimateUs ?? Math.min(this.limitUs / 2, COLD_US)
  }

  waits(): void {
    this.waitsUs ??= this.simulation.loop.now
    this.simulation.watch.waits(this)
  }

  decided(decision: Decision): void {
    const { simulation, process } = this
    this.decidedUs = simulation.loop.now
    if ('ticket' in decision) this.#begin(decision.ticket)
    else {
      const { subjectWindow, reason, retryAfterUs } = decision.refusal
      const { shard } = subjectWindow
      const knowsTime = shard.clock.error(process.nowUs()) < TIME_KNOWN_US
      const retryAfterSec = wholeSeconds(retryAfterUs)
      this.refused = { reason, retryAfterSec, endUs: subjectWindow.end, knowsTime, isDown: shard.isDown }
    }
    simulation.watch.decided(this)
    this.isDecided = true
    if (this.refused) simulation.refused(this, this.refused)
  }

  #begin(ticket: Ticket): void {
    const { process, simulation } = this
    this.ticket = ticket
    this.startUs = simulation.loop.now
    this.ownStartUs = ticket.start
    simulation.served.push(this)
    process.after(this.asked.us / 1_000, () => this.end())
  }

  end(): void {
    if (this.ticket === undefined || this.endUs !== undefined) return
    this.endUs = this.simulation.loop.now
    this.ownEndUs = this.process.nowUs()
    this.simulation.loop.hasMicrotasks = true
    this.process.window.settle(this.ticket)
  }
}

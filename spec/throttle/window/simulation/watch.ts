import type { SubjectWindow } from '../../../../lib/throttle/window/subject-window'
import type { SimulatedProcess } from './simulated-process'
import type { SimulatedRequest } from './simulated-request'
import type { Simulation } from './simulation'
import { sum } from './work'

/** What a run broke, by the law's name. */
export type Violations = Record<string, unknown[]>

/** A request is decided, or told that it waits, within the deadline of 70 ms and what a late timer is granted. */
export const DECIDED_US = 115_000
/** A waiting request's time is looked at so often. */
const LOOK_US = 25_000
const SAMPLE_US = 25_000

/** What all processes together know of a subject. */
interface State {
  readonly windows: readonly (readonly [SimulatedProcess, SubjectWindow])[]
  readonly spent: number
  readonly held: number
  readonly slack: number
}

/** Watches a run for the laws of admission: order, once each, in time, and nobody waits for nothing. */
export class Watch {
  readonly violations: Violations = {}
  /** The longest that a waiting request would have fitted, in any process. */
  longestIdleUs = 0
  readonly #simulation: Simulation
  /** Undecided requests, by process and subject, in the order in which they came. */
  readonly #lines = new Map<SimulatedProcess, Map<string, SimulatedRequest[]>>()
  readonly #running = new Map<SimulatedProcess, number>()
  /** Since when the first one of a line would fit. */
  readonly #fitsSince = new Map<SimulatedRequest, number>()
  readonly #shown = new Map<SimulatedProcess, Map<string, { number: number; us: number }>>()

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  found(law: string, what: object): void {
    ;(this.violations[law] ??= []).push(what)
  }

  begin(): void {
    if (this.#simulation.scenario.idleUs !== undefined) this.#sample()
  }

  asks(request: SimulatedRequest): void {
    this.#line(request).push(request)
  }

  /** It waits for room, after the store was asked or without. */
  waits(request: SimulatedRequest): void {
    this.#inTime(request, this.#simulation.loop.now)
  }

  decided(request: SimulatedRequest): void {
    const { ticket, refused, waitsUs } = request
    if (request.isDecided) return this.found('each request is decided once', facts(request))
    if (waitsUs === undefined) this.#inTime(request, request.decidedUs)
    const line = this.#line(request)
    const at = line.indexOf(request)
    if (ticket) {
      if (request.gone) this.found('nobody who has gone is let in', facts(request))
      const first = line.find((one) => !one.gone && one.limitUs >= request.limitUs)
      if (first !== request) this.found('first come, first served', facts(request))
    } else if (refused) this.#judge(request, refused.reason, line)
    line.splice(at, 1)
    this.#fitsSince.delete(request)
    this.#shows(request)
  }

  #inTime(request: SimulatedRequest, atUs: number): void {
    const { process } = request
    const fromUs = Math.max(request.askedUs, process.resumedUs)
    if (atUs - fromUs > DECIDED_US && !request.gone) this.found('a request is decided in time', facts(request))
  }

  /** Whether it may be refused for want of room. */
  #judge(request: SimulatedRequest, reason: string, line: readonly SimulatedRequest[]): void {
    const { wait, process } = request
    if (reason === 'places') {
      if (line.length - 1 < wait.perSubject) this.found('places run out where they are taken', facts(request))
    } else if (reason !== 'spent' && wait.maxUs > 0) {
      const waited = process.nowUs() - request.ownAskedUs
      if (waited < wait.maxUs) this.found('who may wait is not refused for want of room', facts(request))
      const late = request.decidedUs - Math.max(request.askedUs, process.resumedUs) - wait.maxUs
      if (late > LOOK_US + 5_000) this.found('nobody waits for longer than it may', facts(request))
    }
  }

  /** What clients are told of the time used does not fall within a window. */
  #shows({ process, asked, ticket }: SimulatedRequest): void {
    if (!this.#simulation.scenario.bounds || !ticket) return
    let shown = this.#shown.get(process)
    if (!shown) this.#shown.set(process, (shown = new Map<string, { number: number; us: number }>()))
    const s = ticket.subjectWindow
    const { number } = s.own
    const us = s.shown(process.nowUs())
    const last = shown.get(asked.subject)
    if (last?.number === number && us < last.us)
      this.found('what is told of the time used does not fall', { process: process.id, number, us, last: last.us })
    shown.set(asked.subject, { number, us })
  }

  /** Requests run or wait there. */
  isBusy(process: SimulatedProcess): boolean {
    for (const s of process.window.engine.subjects.active.values())
      if (s.own.running > 0 || s.waiting.length > 0) return true
    return false
  }

  #line({ process, asked }: SimulatedRequest): SimulatedRequest[] {
    let lines = this.#lines.get(process)
    if (!lines) this.#lines.set(process, (lines = new Map<string, SimulatedRequest[]>()))
    let line = lines.get(asked.subject)
    if (!line) lines.set(asked.subject, (line = []))
    return line
  }

  /** Nobody waits who would fit: looked at in all processes at once, which none of them can. */
  #sample(): void {
    const { loop, scenario, everyProcess } = this.#simulation
    loop.after(SAMPLE_US, () => this.#sample())
    const waiting = new Map<string, SimulatedRequest[]>()
    for (const [process, lines] of this.#lines) {
      if (process.isDead) continue
      for (const [subject, line] of lines) {
        const first = line.find(({ gone }) => !gone)
        if (first?.waitsUs === undefined) continue
        const others = waiting.get(subject)
        if (others) others.push(first)
        else waiting.set(subject, [first])
      }
    }
    if (waiting.size > 0) for (const process of everyProcess) if (!process.isDead) process.window.note()
    for (const [subject, firsts] of waiting) {
      const state = this.#stateOf(subject)
      for (const first of firsts) {
        const own = state?.windows.find(([process]) => process === first.process)?.[1]
        const free = state && first.limitUs - state.spent - state.held - state.slack + (own?.slack.left ?? 0)
        if (free === undefined || first.price() > free) {
          this.#fitsSince.delete(first)
          continue
        }
        const since = this.#fitsSince.get(first)
        if (since === undefined) this.#fitsSince.set(first, loop.now)
        else {
          this.longestIdleUs = Math.max(this.longestIdleUs, loop.now - since)
          if (loop.now - since > (scenario.idleUs ?? Infinity)) {
            this.found('nobody waits who would fit', { ...facts(first), fitsSince: since, at: loop.now, free })
          }
        }
      }
    }
  }

  /** What is going on of a subject in all processes together; undefined around a window's end. */
  #stateOf(subject: string): State | undefined {
    const { everyProcess } = this.#simulation
    const known: [SimulatedProcess, SubjectWindow][] = []
    for (const process of everyProcess) {
      const s = process.isDead ? undefined : process.window.engine.subjects.active.get(subject)
      if (s) known.push([process, s])
    }
    const number = known.reduce((latest, [, s]) => Math.max(latest, s.own.number), 0)
    // The processes are in different windows; but where nothing runs that does not matter.
    const windows = known.filter(([, s]) => s.own.number === number || s.own.running > 0)
    if (windows.some(([, s]) => s.own.number !== number)) return undefined
    return {
      windows,
      spent: sum(everyProcess, (process) => process.window.chargedTo(subject, number)),
      held: sum(windows, ([process, s]) => s.own.held(process.nowUs())),
      slack: sum(windows, ([, s]) => s.slack.left),
    }
  }

  /** At the end: who was never decided. */
  end(): void {
    const { loop } = this.#simulation
    for (const [process, lines] of this.#lines) {
      if (process.isDead || process.isStopped) continue
      for (const request of [...lines.values()].flat()) {
        const fromUs = Math.max(request.askedUs, process.resumedUs)
        if (!request.gone && loop.now - fromUs > request.wait.maxUs + DECIDED_US + LOOK_US)
          this.found('nobody who waits is forgotten', facts(request))
      }
    }
  }
}

/** What there is to say of a request that broke a law. */
function facts(request: SimulatedRequest): object {
  const { asked, process, askedUs, waitsUs, decidedUs, refused } = request
  return { ...asked, process: process.id, askedUs, waitsUs, decidedUs, refused: refused?.reason }
}

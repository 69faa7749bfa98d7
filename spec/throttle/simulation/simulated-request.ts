import { Stopwatch, type TimeState } from '../../../lib/http/measure/stopwatch'
import type { Account } from '../../../lib/throttle/budget/account'
import { PLACES } from '../../../lib/throttle/budget/past'
import { Hold, type RefusalReason, type WaitEnd, type WaitRule } from '../../../lib/throttle/budget/hold'
import { type Decision, admit, charge, finish } from '../../../lib/throttle/budget/decide'
import type { RoutePrice } from '../../../lib/throttle/budget/price'
import type { Accounts } from '../../../lib/throttle/store/accounts'
import { refusalOf } from '../../../lib/throttle/request/refusal'
import { SpecPrice } from '../spec-request'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'
import type { Stretch, Work } from './work'

const PLACES_IN_LINE = 64

/** What a request is like. Times in µs. */
export interface Asked {
  readonly us: number
  readonly limitUs: number
  readonly route: number
  /** Its client goes away after this. */
  readonly patienceUs?: number | undefined
  /** When so much is done the app waits for its client, and so long. */
  readonly clientWait?: { readonly afterUs: number; readonly us: number } | undefined
  /** The refusal whose Retry-After it waited for. */
  readonly toldIn?: { readonly number: number; readonly at: number } | undefined
}

/** The request's time, which a meter keeps elsewhere. */
class SimulatedTime extends Stopwatch {
  constructor(
    readonly request: SimulatedRequest,
    now: number,
  ) {
    super(now)
  }

  override get isOver(): boolean {
    return this.request.isGone
  }

  override countWait(at: number): void {
    this.request.waitCounts(at)
    super.countWait(at)
  }

  change(state: TimeState, at: number): void {
    if (this.state !== 'ended') this.enter(state, at)
  }
}

/** One request: asks the real budgets, runs, waits for its client, loses it, ends. */
type SimulatedHold = Hold<Account>

export class SimulatedRequest {
  readonly time: SimulatedTime
  readonly wait: WaitRule
  readonly limitUs: number
  readonly arrivedAt: number
  isGone = false
  /** When it was decided; Infinity while it waits. */
  decidedAt = Infinity
  /** When it was let in, in simulated time; and its price then. */
  admittedAt = 0
  admittedPriceUs = 0
  /** When it ended; Infinity while it runs. */
  endedAt = Infinity
  hold: SimulatedHold | undefined
  /** Counted time of its stretches that are over. */
  #countedUs = 0
  stretch: Stretch | undefined
  #clientWait: Stretch | undefined
  #held: { readonly budgets: Accounts; readonly hold: SimulatedHold }[] = []
  readonly #budgets: readonly Accounts[]
  readonly #price: RoutePrice

  constructor(
    readonly sim: Simulation,
    readonly process: SimulatedProcess,
    readonly work: Work,
    readonly asked: Asked,
    readonly seq: number,
  ) {
    const { random, scenario, loop } = sim
    this.time = new SimulatedTime(this, process.nowUs())
    this.limitUs = asked.limitUs
    this.arrivedAt = loop.now
    this.wait = { maxUs: scenario.waitUs, perSubject: PLACES_IN_LINE }
    const guessUs = sim.mode === 'changing' ? 1_000 : Math.max(1_000, Math.round(asked.us * (0.5 + random.fraction())))
    const learns = !scenario.isExact && scenario.mode === 'learned'
    this.#price = learns ? this.#route : new SpecPrice(() => (scenario.isExact ? asked.us : guessUs))
    const { budgets, otherBudgets } = process
    this.#budgets = otherBudgets ? (random.chance(0.2) ? [otherBudgets, budgets] : [budgets, otherBudgets]) : [budgets]
  }

  ask(): void {
    const { patienceUs } = this.asked
    if (patienceUs !== undefined)
      this.sim.loop.after(
        patienceUs,
        this.process.guarded(() => this.#leave()),
      )
    this.#line.add(this)
    this.#askNext()
  }

  /** It was let in by what its process had been granted ahead: the store was not asked about it. */
  get isFromGrant(): boolean {
    return this.admittedAt === this.arrivedAt || this.hold?.askedIn === 0
  }

  get isDecided(): boolean {
    return this.decidedAt < Infinity
  }

  get #line(): Set<SimulatedRequest> {
    const { lines } = this.process
    let line = lines.get(this.work)
    if (!line) lines.set(this.work, (line = new Set<SimulatedRequest>()))
    return line
  }

  #askNext(): void {
    const budgets = this.#budgets[this.#held.length]
    if (!budgets) return this.#admitted()
    const { scenario } = this.sim
    const now = this.process.nowUs()
    const account = budgets.account(this.work.subject, now)
    if (budgets === this.process.budgets) this.process.see(account)
    const { subject } = this.work
    const hold = new Hold(account, this, this.time, this.#price, subject, this.limitUs, scenario.clientWaitUs, PLACES)
    const decision = admit(hold, now)
    this.#took(hold, decision, now)
  }

  #took(hold: SimulatedHold, decision: Decision | 'gone', now: number): void {
    if (decision !== 'ask' && decision !== 'wait') return this.decided(hold, decision)
    this.#stop()
    for (const held of this.#held) held.hold.account.enterWindow(now)
    this.time.change('parked', now)
    hold.heard = (end) => this.decided(hold, end)
  }

  get #route(): RoutePrice {
    return this.process.routes[this.asked.route] as RoutePrice
  }

  decided(hold: SimulatedHold, end: WaitEnd): void {
    const { sim, process } = this
    if (this.isDecided) return sim.found('a request is decided once', { seq: this.seq })
    if (process.isDead) return
    const now = process.nowUs()
    if (end !== 'start') {
      this.decidedAt = sim.loop.now
      this.#line.delete(this)
      if (this.hold) this.stopCounting()
      for (const held of this.#held) finish(held.hold, now)
      if (end !== 'gone' && end !== 'closed') this.#refused(hold, end, now)
      return
    }
    const newest = { budgets: this.#budgets[this.#held.length] as Accounts, hold }
    this.#held.push(newest)
    if (newest.budgets === process.budgets) {
      this.hold = hold
      this.work.live.add(this)
      sim.laws.entered(this.work)
    }
    for (const held of this.#held) held.hold.account.enterWindow(now)
    this.time.change('running', now)
    hold.account.run(hold, now)
    if (this.hold && !this.stretch) this.stretch = this.work.begin(process)
    this.#askNext()
  }

  #refused(hold: SimulatedHold, reason: RefusalReason, now: number): void {
    const [known] = this.#held.filter((held) => held.hold === hold)
    if ((known?.budgets ?? this.#budgets[this.#held.length]) !== this.process.budgets) return
    this.sim.laws.refused(this, reason, refusalOf(hold, reason, '', now).retryAfterUs)
  }

  #admitted(): void {
    const { sim, process, asked } = this
    this.decidedAt = this.admittedAt = sim.loop.now
    this.admittedPriceUs = this.hold?.priceUs ?? 0
    sim.laws.admitted(this)
    this.#line.delete(this)
    process.running.add(this)
    const { clientWait } = asked
    if (clientWait === undefined)
      return sim.loop.after(
        asked.us,
        process.guarded(() => this.#end()),
      )
    sim.loop.after(
      clientWait.afterUs,
      process.guarded(() => this.#waitForClient(clientWait.us, asked.us - clientWait.afterUs)),
    )
  }

  // --- while it runs

  #waitForClient(us: number, restUs: number): void {
    const { sim, process, work, hold } = this
    if (!hold?.isRunning) return
    this.#stop()
    this.#clientWait = work.beginWait(process)
    for (const held of this.#held) held.hold.account.enter(process.nowUs())
    this.time.change('awaitingClient', process.nowUs())
    sim.loop.after(
      us,
      process.guarded(() => {
        if (process.isClosing) return
        for (const held of this.#held) held.hold.account.enter(process.nowUs())
        this.#goOn(sim.loop.now)
        this.time.change('running', process.nowUs())
        sim.loop.after(
          restUs,
          process.guarded(() => this.#end()),
        )
      }),
    )
  }

  /** The wait is excused no longer. */
  waitCounts(at: number): void {
    for (const held of this.#held) held.hold.account.enterWindow(at)
    this.#goOn(Math.round(this.process.simulated(at)))
  }

  #goOn(at: number): void {
    if (this.#clientWait === undefined) return
    this.work.endWait(this.#clientWait, at)
    this.#clientWait = undefined
    this.stretch = this.work.begin(this.process, at)
  }

  #stop(): void {
    const { stretch, work } = this
    if (!stretch) return
    work.end(stretch)
    this.#countedUs += (stretch.to ?? 0) - stretch.from
    this.stretch = undefined
  }

  /** Time that counted, in all windows. */
  get countedUs(): number {
    return this.#countedUs + (this.stretch ? this.sim.loop.now - this.stretch.from : 0)
  }

  #leave(): void {
    this.isGone = true
    const { process, sim, hold } = this
    if (!hold || !process.running.has(this) || sim.random.chance(0.5)) return
    sim.loop.after(
      Math.max(0, hold.account.writesOffInUs(hold, process.nowUs())),
      process.guarded(() => this.#writeOff(hold)),
    )
  }

  #writeOff(hold: SimulatedHold): void {
    const { process, work } = this
    if (!process.running.has(this)) return
    const at = this.sim.loop.now
    hold.account.current(process.nowUs()).writeOff(this.limitUs, process.nowUs())
    work.writeOff(process, this.limitUs)
    this.#over()
    const restUs = this.asked.us - (at - this.admittedAt)
    if (restUs <= 0) return
    this.sim.loop.after(restUs, () => {
      if (process.isDead || process.isClosing) return
      process.guarded(() => {
        if (process.isClosing) return
        const us = this.sim.loop.now - at
        void charge(hold, us, process.nowUs())
        work.addLate(process, us)
      })()
    })
  }

  #end(): void {
    const { process, sim, work, hold } = this
    if (!process.running.has(this)) return
    const mayCharge = !sim.scenario.isExact && sim.random.chance(0.03)
    if (!mayCharge || !hold) return this.#over()
    const learns = sim.mode === 'learned'
    const us = sim.random.int(0, sim.scenario.limitUs >> (learns ? 1 : 5))
    const isBeforeEnd = us % 2 === 0
    if (!isBeforeEnd) this.#over()
    work.add(process, us)
    void charge(hold, us, process.nowUs())
    if (isBeforeEnd) this.#over()
  }

  #over(): void {
    const { process, sim } = this
    this.stopCounting()
    process.running.delete(this)
    const learns = sim.scenario.mode === 'learned'
    const now = process.nowUs()
    for (const { hold } of this.#held) {
      if (learns && hold.state !== 'ended') hold.account.learn(this.#route, hold.takenUs(now))
      finish(hold, now)
    }
    this.time.change('ended', now)
  }

  /** It has ended, or its process has. */
  stopCounting(): void {
    this.#stop()
    if (this.#clientWait) this.work.endWait(this.#clientWait)
    this.#clientWait = undefined
    this.endedAt = this.sim.loop.now
    this.work.live.delete(this)
  }
}

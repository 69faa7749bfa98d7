import { type Account, PLACES } from '../../../lib/throttle/account/account'
import type { Applicant, Decision, Refusal, WaitRule } from '../../../lib/throttle/account/decide'
import type { Hold, HoldOwner } from '../../../lib/throttle/account/hold'
import { type RoutePrice, learnPrice, priceOf } from '../../../lib/throttle/account/price'
import type { Ledger } from '../../../lib/throttle/ledger'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'
import type { Stretch, Work } from './work'

const PLACES_IN_LINE = 64
const UNSEEN_MOST_US = 3_000_000

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

/** One request: asks the real ledgers, runs, waits for its client, loses it, ends. */
export class SimulatedRequest implements Applicant, HoldOwner {
  readonly wait: WaitRule
  readonly limitUs: number
  readonly arrivedAt: number
  isGone = false
  /** When it was decided; Infinity while it waits. */
  decidedAt = Infinity
  /** When it was let in, in simulated time; and its price then. */
  admittedAt = 0
  priceUs = 0
  /** When it ended; Infinity while it runs. */
  endedAt = Infinity
  hold: Hold | undefined
  /** Counted time of its stretches that are over. */
  #countedUs = 0
  stretch: Stretch | undefined
  #clientWait: Stretch | undefined
  #held: { readonly ledger: Ledger; readonly hold: Hold }[] = []
  #ledgers: readonly Ledger[]
  readonly #guessUs: number

  constructor(
    readonly sim: Simulation,
    readonly process: SimulatedProcess,
    readonly work: Work,
    readonly asked: Asked,
    readonly seq: number,
  ) {
    const { random, scenario, loop } = sim
    this.limitUs = asked.limitUs
    this.arrivedAt = loop.now
    this.wait = { maxUs: scenario.waitUs, perSubject: PLACES_IN_LINE }
    this.#guessUs = sim.mode === 'changing' ? 1_000 : Math.max(1_000, Math.round(asked.us * (0.5 + random.fraction())))
    const { ledger, otherLedger } = process
    this.#ledgers = otherLedger ? (random.chance(0.2) ? [otherLedger, ledger] : [ledger, otherLedger]) : [ledger]
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
    const ledger = this.#ledgers[this.#held.length]
    if (!ledger) return this.#admitted()
    const verdict = ledger.admit(this.work.subject, this, this.process.nowUs())
    if (!('waiter' in verdict)) return this.decided(verdict)
    for (const held of this.#held) {
      this.#stop()
      held.ledger.park(held.hold, this.process.nowUs())
    }
  }

  // --- Applicant

  price(account: Account): number {
    const { ledger } = this.process
    if (account.terms.windowUs === ledger.windowMs * 1_000) this.process.see(account)
    const { scenario } = this.sim
    if (scenario.isExact) return this.asked.us
    return scenario.mode === 'learned' ? priceOf(this.#route, account.histories, this.limitUs) : this.#guessUs
  }

  get #route(): RoutePrice {
    return this.process.routes[this.asked.route] as RoutePrice
  }

  decided(decision: Decision): void {
    const { sim, process } = this
    if (this.isDecided) return sim.found('a request is decided once', { seq: this.seq })
    if (process.isDead) return
    if (!('hold' in decision)) {
      this.decidedAt = sim.loop.now
      this.#line.delete(this)
      if (this.hold) this.stopCounting()
      for (const { ledger, hold } of this.#held) ledger.release(hold, process.nowUs())
      if ('refusal' in decision) this.#refused(decision.refusal)
      return
    }
    const now = process.nowUs()
    const { hold } = decision
    const ledger = this.#ledgers[this.#held.length] as Ledger
    for (const held of this.#held) held.ledger.start(held.hold, now)
    this.#held.push({ ledger, hold })
    if (ledger === process.ledger) {
      this.hold = hold
      hold.owner = this
      hold.clientWaitUs = this.sim.scenario.clientWaitUs
      this.work.live.add(this)
    }
    ledger.start(hold, now)
    if (this.hold && !this.stretch) this.stretch = this.work.begin(process)
    this.#askNext()
  }

  #refused(refusal: Refusal): void {
    if (refusal.account.terms.windowUs !== this.process.ledger.windowMs * 1_000) return
    this.sim.laws.refused(this, refusal)
  }

  #admitted(): void {
    const { sim, process, asked } = this
    this.decidedAt = this.admittedAt = sim.loop.now
    this.priceUs = this.hold?.priceUs ?? 0
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
    if (hold?.state !== 'running') return
    this.#stop()
    this.#clientWait = work.beginWait(process)
    process.ledger.waitForClient(hold, process.nowUs())
    sim.loop.after(
      us,
      process.guarded(() => {
        if (process.isClosing) return
        process.ledger.start(hold, process.nowUs())
        this.#goOn(sim.loop.now)
        sim.loop.after(
          restUs,
          process.guarded(() => this.#end()),
        )
      }),
    )
  }

  /** HoldOwner: the wait is excused no longer. */
  waitCounts(at: number): void {
    this.#goOn(Math.round(this.process.simulated(at)))
  }

  #goOn(at: number): void {
    if (this.#clientWait === undefined) return
    this.work.endWait(this.#clientWait, at)
    this.#clientWait = undefined
    this.stretch = this.work.begin(this.process, at)
  }

  windowBegan(): void {
    // a wait that counts goes on counting here, since the laws know it as a stretch of work
  }

  chargedWaitsUs(): number {
    return 0 // counted as work, as in windowBegan()
  }

  overrun(): void {
    // the app does as it likes
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
    const unseenUs = Math.min((this.limitUs / PLACES) * (hold.account.strain / 100), UNSEEN_MOST_US)
    sim.loop.after(
      Math.max(hold.priceUs, unseenUs),
      process.guarded(() => this.#writeOff(hold)),
    )
  }

  #writeOff(hold: Hold): void {
    const { process, work } = this
    if (!process.running.has(this)) return
    const at = this.sim.loop.now
    process.ledger.writeOff(hold)
    work.writeOff(process, this.limitUs)
    this.#over()
    const restUs = this.asked.us - (at - this.admittedAt)
    if (restUs <= 0) return
    this.sim.loop.after(restUs, () => {
      if (process.isDead || process.isClosing) return
      process.guarded(() => {
        if (process.isClosing) return
        const us = this.sim.loop.now - at
        process.ledger.late(hold, us)
        work.addLate(process, us)
      })()
    })
  }

  #end(): void {
    const { process, sim, work, hold } = this
    if (!process.running.has(this)) return
    this.#over()
    const mayCharge = !sim.scenario.isExact && sim.random.chance(0.03)
    if (!mayCharge || !hold) return
    const learns = sim.mode === 'learned'
    const us = sim.random.int(0, sim.scenario.limitUs >> (learns ? 1 : 5))
    work.add(process, us)
    void process.ledger.charge(hold.account, us)
  }

  #over(): void {
    const { process, sim, work } = this
    this.stopCounting()
    process.running.delete(this)
    const learns = sim.scenario.mode === 'learned'
    for (const { ledger, hold } of this.#held) {
      const { account } = hold
      const us = hold.takenUs(process.nowUs())
      if (learns && hold.state !== 'ended')
        account.histories = learnPrice(this.#route, work.subject, account.histories, us)
      ledger.end(hold, process.nowUs())
    }
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

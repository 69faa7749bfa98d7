import type { Clock } from '../../../lib/http/clock'
import type { Account } from '../../../lib/throttle/budget/account'
import { RoutePrice } from '../../../lib/throttle/budget/price'
import { type Answer, GRACE_US, PARKED_US, type Report } from '../../../lib/throttle/budget/report'
import { Accounts } from '../../../lib/throttle/store/accounts'
import type { Link } from '../../../lib/throttle/store/link'
import { SharedStore } from '../../../lib/throttle/store/shared-store'
import { waitingOf } from '../spec-request'
import { numberOf } from './model'
import type { SimulatedRequest } from './simulated-request'
import { EPOCH_US, SimulatedStore } from './simulated-store'
import type { Simulation } from './simulation'
import type { Work } from './work'

/** What a process had of a subject's window when it ended. */
interface AtDeath {
  /** What its prices may count as used: µs. */
  readonly heldUs: number
  /** Until when its hold stands. */
  readonly until: number
  readonly live: number
}

/** A process with clocks of its own, the real budgets, and a way to the store. */
export class SimulatedProcess implements Clock {
  readonly name: string
  readonly bornAt: number
  isDead = false
  isClosing = false
  isClosed = false
  diedAt = Infinity
  isCutOff = false
  /** It stands still until then. */
  blockedUntil = 0
  wasBlocked = false
  /** When the store answered it again after an outage. */
  upSince = 0
  /** When the store last granted it something. */
  grantedAt = -Infinity
  readonly running = new Set<SimulatedRequest>()
  readonly lines = new Map<Work, Set<SimulatedRequest>>()
  readonly routes: readonly RoutePrice[]
  readonly budgets: Accounts
  /** In mode `two`: a second policy. */
  readonly otherBudgets: Accounts | undefined
  readonly store: SimulatedStore
  /** Own used time at each window's end, as its account had it: µs by `subject/number`. */
  readonly ended = new Map<string, number>()
  readonly atDeath = new Map<string, AtDeath>()
  readonly #unheard = new Map<string, number>()
  readonly #accounts = new Map<string, Account>()
  readonly #shared: SharedStore
  #livings: { readonly living: number; readonly until: number }[] = []
  #living = 1
  readonly #rate: number
  readonly #offset: number
  readonly #wallErrorUs: number

  constructor(
    readonly id: number,
    readonly sim: Simulation,
  ) {
    const { random, scenario, loop } = sim
    this.name = `p${id}`
    this.bornAt = loop.now
    this.#rate = 1 + (random.fraction() * 2 - 1) * scenario.drift
    this.#offset = random.int(0, 1e9)
    this.#wallErrorUs = (random.fraction() * 2 - 1) * scenario.wallErrorUs
    this.routes = scenario.routeFactors.map((_, i) => new RoutePrice(`r${i}`))
    this.store = new SimulatedStore(sim, this)
    this.#shared = SharedStore.of(this.store, this)
    const { windowUs, mode } = scenario
    const terms = { windowUs, carryOvershoot: mode === 'carried' }
    this.budgets = new Accounts(sim.policy, terms, this, this.#shared)
    if (mode === 'two')
      this.otherBudgets = new Accounts('other', { ...terms, windowUs: windowUs * 2 }, this, this.#shared)
  }

  // --- Clock

  now(): number {
    return this.nowUs() / 1_000
  }

  date(): number {
    return (EPOCH_US + this.sim.loop.now + this.#wallErrorUs) / 1_000
  }

  nowUs(): number {
    return Math.round(this.sim.loop.now * this.#rate) + this.#offset
  }

  after(ms: number, fn: () => void): () => void {
    let run: (() => void) | undefined = fn
    this.sim.loop.after(
      (ms * 1_000) / this.#rate,
      this.guarded(() => run?.()),
    )
    return () => (run = undefined)
  }

  /** Simulated time at a time of its clock. */
  simulated(us: number): number {
    return (us - this.#offset) / this.#rate
  }

  /** It does nothing once it is dead, and later while it stands still. */
  guarded(run: () => void): () => void {
    const guarded = () => {
      if (this.isDead) return
      if (this.sim.loop.now < this.blockedUntil) return this.sim.loop.at(this.blockedUntil, guarded)
      run()
    }
    return guarded
  }

  // --- what it knows

  get isDown(): boolean {
    return this.#server.isDown
  }

  /** How long this process has had no answer. */
  get downForUs(): number {
    return this.isDown ? this.nowUs() - this.#server.downSince : 0
  }

  /** How many processes it has heard of. */
  get living(): number {
    return this.#living
  }

  get #server(): Link {
    return this.#shared.linkOf('')
  }

  /** A heartbeat was answered. */
  beatAnswered(): void {
    if (this.isDown) this.upSince = this.sim.loop.now
    this.sim.loop.after(0, () => {
      const { living } = this.#server
      if (living !== this.#living) this.#livings.push({ living: this.#living, until: this.sim.loop.now })
      this.#living = living
    })
  }

  /** How far the store's figures of it may be off, by the fewest living processes that it knew of lately. */
  get toleranceUs(): number {
    const { limitUs } = this.sim.scenario
    const since = this.sim.loop.now - this.sim.heardWithin
    this.#livings = this.#livings.filter(({ until }) => until > since)
    const least = this.#livings.reduce((few, { living }) => Math.min(few, living), this.#living)
    return Math.max(1_000, limitUs / (100 * least))
  }

  /** Its account, as it is, if it was used and not put to rest. */
  account(work: Work): Account | undefined {
    const account = this.#accounts.get(work.subject)
    return account?.isForgotten ? undefined : account
  }

  /** Remembers an account, and notes what it has at each window's end. */
  see(account: Account): void {
    if (this.#accounts.get(account.subject) === account) return
    this.#accounts.set(account.subject, account)
    const enter = account.enter.bind(account)
    const watched = (now: number): void => {
      const { number, end, own } = account
      const time = account.server.clock.at(now)
      if (time >= end) this.ended.set(`${account.subject}/${number}`, own.at(now - (time - end)).usedUs)
      enter(now)
    }
    Object.assign(account, { enter: watched })
  }

  // --- what was granted and not heard

  unheard(reports: readonly Report[], answers: readonly Answer[]): void {
    reports.forEach((report, i) => {
      const { figures } = answers[i] as Answer
      const key = `${report.account.id}/${numberOf(report)}`
      if (figures) this.#unheard.set(key, (this.#unheard.get(key) ?? 0) + figures.granted + report.held)
    })
  }

  unheardUs(work: Work, number: number): number {
    return this.#unheard.get(`${work.id}/${number}`) ?? 0
  }

  // --- its end

  /** Notes what it holds. */
  noteHeld(): void {
    const { loop, model, works } = this.sim
    const now = this.nowUs()
    for (const work of works) {
      const account = this.account(work)
      if (!account) continue
      const { number, own, sent } = account
      const told = sent ? sent.held + sent.neededUs : 0
      const stored = model.hash(work.id, number)?.fields.get(this.name)?.held ?? 0
      const heldUs = Math.max(own.at(now).pricedUs, told, stored)
      const line = waitingOf(account)
      const waits = line.map(({ priceUs }) => priceUs)
      const runsForUs = own.at(now).lastEnd === Infinity ? PARKED_US : own.at(now).lastEnd - now
      const until = loop.now + Math.max(0, runsForUs, ...waits) + GRACE_US
      this.atDeath.set(`${work.id}/${number}`, {
        heldUs,
        until,
        live: own.live.length + account.grant.places + line.length,
      })
    }
  }

  kill(): void {
    this.noteHeld()
    this.#die()
  }

  /** Ends as after SIGTERM. */
  close(done: () => void): void {
    const { loop } = this.sim
    this.isClosing = true
    loop.hasPromises = true
    const all = [this.budgets, ...(this.otherBudgets ? [this.otherBudgets] : [])]
    const closed = Promise.all(all.map((budgets) => budgets.close())) // waits beyond their cap count up to now
    for (const request of this.running) request.stopCounting()
    this.running.clear()
    void closed.then(() => {
      if (this.isDead) return
      this.isClosed = true
      this.#die()
      done()
    })
    loop.after(2_000_000, () => this.#die())
  }

  #die(): void {
    if (this.isDead) return
    this.isDead = true
    this.diedAt = this.sim.loop.now
    for (const request of this.running) request.stopCounting()
    this.sim.loop.hasPromises = this.sim.processes.some(({ isClosing, isDead }) => isClosing && !isDead)
  }
}

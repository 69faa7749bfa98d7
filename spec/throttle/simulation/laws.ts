import { PLACES } from '../../../lib/throttle/budget/past'
import type { RefusalReason } from '../../../lib/throttle/budget/hold'
import { GRACE_US, GRANT_US, LEASE_US, TICK_US } from '../../../lib/throttle/budget/report'
import { Allowances } from './allowances'
import { watchLines } from './law-of-lines'
import { watchWindows } from './law-of-windows'
import { ATTACKED_WINDOWS } from './scenario'
import { holdsOf } from '../spec-request'
import type { SimulatedProcess } from './simulated-process'
import type { SimulatedRequest } from './simulated-request'
import type { Simulation } from './simulation'
import { Strains } from './strains'
import type { Work } from './work'

/** In an outage longer than this a request may run alone that is dearer than what is left of the share. */
const LONG_OUTAGE_US = 1_000_000
/** A request is decided so long after it may wait no more. */
const DECIDED_US = 160_000

/** Holds a run against what was truly done. */
export class Laws {
  readonly allow: Allowances
  readonly strains: Strains
  readonly #admitted = new Map<Work, SimulatedRequest[]>()
  /** Requests that were dearer than what was left: one starts where nothing runs, whoever has places ahead. */
  readonly #dear = new WeakSet<SimulatedRequest>()
  /** The highest price of those let in alone beyond the limit, by window. */
  readonly #lones = new Map<string, number>()
  readonly #spent = new Set<string>()

  constructor(readonly sim: Simulation) {
    this.allow = new Allowances(sim)
    this.strains = new Strains(sim)
    watchLines(sim, this)
    watchWindows(sim, this)
  }

  admittedOf(work: Work): readonly SimulatedRequest[] {
    return this.#admitted.get(work) ?? []
  }

  wasSpent(work: Work, number: number): boolean {
    return this.#spent.has(`${work.id}/${number}`)
  }

  // --- at an admission

  /** A request was let in to the window, or is back in it from another one's line. */
  entered({ live }: Work): void {
    if (this.sim.scenario.isCalm && live.size > PLACES)
      this.sim.found('at most 32 run at once, also across a window’s end', { live: live.size })
  }

  admitted(request: SimulatedRequest): void {
    const { sim } = this
    const { work, process } = request
    sim.admitted++
    const all = this.#admitted.get(work)
    if (all) all.push(request)
    else this.#admitted.set(work, [request])
    this.#decided(request)
    if (request.isGone && sim.loop.now > request.arrivedAt)
      sim.found('who has gone is not let in', { seq: request.seq })
    if (sim.mode === 'two') return
    for (const other of process.lines.get(work) ?? [])
      if (!other.isGone && other.seq < request.seq)
        sim.found('first come, first served', { earlier: other.arrivedAt, later: request.arrivedAt })
    if (sim.mode === 'outage' && process.isDown) this.#hasShare(request)
    if (!sim.scenario.isCalm || !sim.scenario.isExact) return
    // Time charged after its request had ended is told within a tick.
    if (sim.loop.now - work.chargedAt <= sim.heardWithin) return
    this.#hasRoom(request)
    this.#hasPlace(request)
  }

  #decided(request: SimulatedRequest): void {
    const { sim } = this
    const since = Math.max(request.arrivedAt, request.process.blockedUntil)
    const waited = sim.loop.now - since
    if (waited > 0) sim.waited++
    const most = request.wait.maxUs * (sim.mode === 'two' ? 2 : 1) + DECIDED_US
    if (waited > most)
      sim.found('bounded wait', {
        waited,
        seq: request.seq,
        process: request.process.id,
        subject: request.work.subject,
      })
  }

  /** What is used and held, the request included, is within its own limit; or nothing else runs. */
  #hasRoom(request: SimulatedRequest): void {
    const { sim, allow } = this
    const { work, limitUs, admittedPriceUs: priceUs } = request
    const number = work.number()
    const start = work.startOf(number)
    const key = `${work.id}/${number}`
    const used = work.used(number)
    let [held, guessed, beyond] = [0, 0, 0]
    for (const process of sim.alive) {
      const account = process.account(work)
      if (account?.number !== number) continue
      held += account.own.at(process.nowUs()).heldUs
      for (const hold of holdsOf(account)) if (hold.isRunning) guessed += Math.max(0, hold.expectedUs - hold.priceUs)
    }
    for (const one of this.admittedOf(work)) {
      const [from, to] = [one.admittedAt, one.endedAt]
      if (one.limitUs > limitUs && from > sim.loop.now - LEASE_US) guessed += one.admittedPriceUs
      if (from < start && to > start) guessed += one.admittedPriceUs // told within a tick
      if (to > start) beyond += Math.max(0, one.countedUs - one.admittedPriceUs)
    }
    // One that was started from time ahead is not told before it has used half of the tolerance: that time was reserved.
    const isUntold = (one: SimulatedRequest) =>
      one.admittedAt > sim.loop.now - (one.isFromGrant ? GRANT_US : sim.roundTrip)
    const isAlone = [...work.live].every((one) => one === request || isUntold(one))
    const slack = 2 * allow.toleranceUs
    // One that starts from time ahead was granted that before what was charged since.
    if (request.isFromGrant) guessed += work.chargedSince(Math.max(start, sim.loop.now - GRANT_US))
    const isLone = isAlone && used <= limitUs + slack
    if (isLone && used + held > limitUs * 0.9) this.#lones.set(key, Math.max(this.#lones.get(key) ?? 0, priceUs))
    const lone = this.#lones.get(key) ?? 0
    if (sim.loop.now - start <= allow.boundaryUs * 4) return
    const most = limitUs + guessed + slack + beyond + work.carried(number) + lone + allow.roundingUs
    if (used + held > most && !isLone)
      sim.found('there is room at each admission', {
        used,
        held,
        limitUs,
        priceUs,
        lone,
        guessed,
        beyond,
        process: request.process.id,
        seq: request.seq,
      })
  }

  /**
   * No more run at once than there were places when the latest of them was granted: places granted ahead count as running.
   * A process that starts one from time ahead was granted its place within the last second.
   */
  #hasPlace(request: SimulatedRequest): void {
    const { sim, allow } = this
    const { work, limitUs, process } = request
    const number = work.number()
    const { now } = sim.loop
    const start = work.startOf(number)
    if (request.admittedPriceUs > limitUs - work.used(number) - allow.toleranceUs) this.#dear.add(request)
    if (now - start <= allow.boundaryUs * 4) return
    // A place that was granted to a line serves the next of it as soon as it is free.
    const asked = request.hold ? now - process.simulated(request.hold.account.sentAt) : 0
    const granted = request.isFromGrant ? GRANT_US + sim.roundTrip : Math.max(sim.roundTrip, asked)
    const heard = 2 * TICK_US + sim.roundTrip
    // While a process has a hold it need not tell what its requests took, nor that they have ended, since the last began.
    const told = now - granted - heard - GRACE_US
    const silentSince = new Map<SimulatedProcess, number>()
    for (const { process: other, endedAt, admittedAt } of this.admittedOf(work))
      if (endedAt > told) silentSince.set(other, Math.min(silentSince.get(other) ?? Infinity, admittedAt - heard))
    silentSince.set(process, now - granted)
    let unknown = allow.toleranceUs
    for (const [other, since] of silentSince) unknown += work.since(Math.max(start, since), other)
    // Waits for clients count from when the cap was reached, once the process has looked.
    for (const { asked } of work.live) if (asked.clientWait) unknown += sim.heardWithin + TICK_US
    // The store looks for what has expired where not all that is asked for fits.
    const hash = sim.model.hash(work.id, number)
    for (const { runs, held } of hash?.fields.values() ?? []) if (runs <= sim.time) unknown += held
    for (const { at, held } of hash?.lapsed ?? []) if (at > sim.time - granted) unknown += held
    const known = work.used(number) - unknown
    // Those with a higher limit may have been granted theirs since. What another process's earlier window left running is
    // told within a tick.
    const isKnown = (one: SimulatedRequest) =>
      one.process === process || one.admittedAt >= start || start < now - granted - heard
    const running = [...work.live].filter(
      (one) => (one.limitUs <= limitUs || one.admittedAt < now - granted) && isKnown(one) && !this.#dear.has(one),
    ).length
    const strain = this.strains.known(work, number, now - granted - heard) * 0.98
    const most = Math.max(1, (PLACES * (limitUs - Math.max(0, known))) / (limitUs * Math.max(1, strain)))
    if (running > most + 1e-6)
      sim.found('no more run at once than there are places', {
        running,
        most,
        known,
        limitUs,
        strain,
        process: process.id,
        seq: request.seq,
      })
  }

  /**
   * In an outage a process uses its share of what was left when the others were last heard. Later one request at a time
   * may be dearer than what is left of it.
   */
  #hasShare(request: SimulatedRequest): void {
    const { sim, allow } = this
    const { work, process, limitUs, hold } = request
    if (!hold || work.number() !== hold.account.number) return
    const { account } = hold
    const { heard: others, heardAt, number } = account
    const isAlone = [...work.live].every((one) => one === request || one.process !== process)
    const heard = Math.max(work.startOf(number), process.simulated(heardAt) + 1) // what began in this microsecond was told
    let [us, heldThen] = [0, 0]
    for (const one of this.admittedOf(work)) {
      if (one.process !== process) continue
      const left = Math.max(0, one.admittedPriceUs - one.countedUs)
      if (one.admittedAt >= heard) us += one.countedUs + (one.endedAt === Infinity ? left : 0)
      else if (one.endedAt > heard) {
        heldThen += Math.max(0, one.admittedPriceUs - (heard - one.admittedAt))
        // Its hold was an estimate, if it ran longer than its price.
        if (one.endedAt < Infinity) us -= left > 0 ? left : (heard - one.admittedAt) / 2
      }
    }
    const before = work.used(number, process) - work.since(heard, process)
    const share = Math.max(0, limitUs - others.used - others.held - before - heldThen) / process.living
    const slack = allow.toleranceUs + allow.roundingUs + allow.edgeUs(work, number)
    const isHeld = request.admittedPriceUs <= limitUs - others.used - others.held - before + slack
    const lone = isAlone && (isHeld || process.downForUs > LONG_OUTAGE_US) ? request.admittedPriceUs : 0
    if (us > share + lone + slack)
      sim.found('an outage is bounded by shares', { us, share, lone, slack, process: process.id, seq: request.seq })
  }

  // --- at a refusal

  refused(request: SimulatedRequest, reason: RefusalReason, retryAfterUs: number): void {
    const { sim } = this
    if (request.isGone) return
    this.#decided(request)
    if (reason !== 'spent') return
    const { work, process, limitUs, asked } = request
    const number = work.number()
    this.#spent.add(`${work.id}/${number}`)
    this.#isSpent(request, number)
    const { toldIn } = asked
    const isKept = toldIn?.number === number && !this.allow.isRecent(toldIn.at - 1e6) && !sim.scenario.isLossy
    if (isKept) sim.found('Retry-After is kept', { told: toldIn.at, process: process.id })
    if (!sim.random.chance(0.3)) return
    const again = sim.random.pick(sim.processes)
    const told = { us: asked.us, limitUs, route: asked.route, toldIn: { number, at: sim.loop.now } }
    sim.loop.after(
      retryAfterUs,
      again.guarded(() => sim.request(again, work, told)),
    )
  }

  #isSpent(request: SimulatedRequest, number: number): void {
    const { sim, allow } = this
    const { work, limitUs, process } = request
    const { isCalm, drift } = sim.scenario
    if (allow.isRecent(undefined, ['rollback'])) return
    const used = work.used(number) + this.strains.carried(work, number)
    const held =
      allow.unfinishedUs(work, number) + allow.heldOfSilentUs(work, number) + allow.heldOfStillUs(work, number)
    const rounding = allow.toleranceUs + allow.roundingUs + drift * used * 2 + allow.edgeUs(work, number)
    const blocked = sim.processes.some(({ wasBlocked }) => wasBlocked) ? allow.boundaryUs : 0
    const near = Math.min(sim.loop.now - work.startOf(number), work.startOf(number + 1) - sim.loop.now)
    const boundary = allow.boundaryUs * (isCalm ? 1 : 4)
    const edge = near < allow.boundaryUs * 4 ? boundary * sim.admitted : 0
    if (used < limitUs - held - rounding - blocked - edge)
      sim.found('nobody is refused as spent while used <= limit', {
        used,
        limitUs,
        held,
        rounding,
        edge,
        process: process.id,
        number,
        seq: request.seq,
      })
  }

  // --- at the end

  atEnd(): void {
    const { sim } = this
    if (sim.mode === 'changing') for (const work of sim.works) this.#fewBudgets(work)
    for (const process of sim.alive)
      for (const line of process.lines.values())
        for (const request of line) {
          const most = request.wait.maxUs * (sim.mode === 'two' ? 2 : 1) + DECIDED_US
          const waited = sim.loop.now - Math.max(request.arrivedAt, process.blockedUntil)
          if (!request.isGone && waited > most)
            sim.found('nobody is forgotten', {
              waited,
              seq: request.seq,
              process: process.id,
              subject: request.work.subject,
            })
        }
  }

  /** Who takes another process in each window gets no more than who stays. */
  #fewBudgets(work: Work): void {
    const first = work.number(this.admittedOf(work)[0]?.admittedAt)
    const us = work.between(work.startOf(first), work.startOf(first + ATTACKED_WINDOWS))
    const budgets = us / this.sim.scenario.limitUs / ATTACKED_WINDOWS
    if (budgets > 4.01) this.sim.found('at most 4 budgets a window on average', { budgets, subject: work.subject })
  }

  /** What an ended process did in its last ticks may be missing in the store. */
  untoldUs(process: SimulatedProcess, work: Work, number: number): number {
    if (process.diedAt === Infinity || process.isClosed) return 0
    const [since, end] = [
      Math.max(process.diedAt - this.sim.heardWithin, work.startOf(number)),
      work.startOf(number + 1),
    ]
    let us = 0
    for (const { process: of, from, to = this.sim.loop.now } of work.stretches)
      if (of === process) us += Math.max(0, Math.min(to, end) - Math.max(from, since))
    return us
  }
}

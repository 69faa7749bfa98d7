import type { FaultKind } from './faults'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'
import type { Work } from './work'

/** All is whole again so long after a fault, µs. */
const WHOLE_US = 3_500_000
/** Each request's start and end are rounded. */
export const ROUND_US = 5

/** What the laws have to allow for: µs. */
export class Allowances {
  /** A process knows the server's clock to this. */
  readonly boundaryUs: number

  constructor(readonly sim: Simulation) {
    const { network } = sim.scenario
    this.boundaryUs = 2 * (network.delayUs + 3 * network.jitterUs) + 1_000
  }

  /** Whether something went wrong since a time. */
  isRecent(from = this.sim.loop.now - WHOLE_US, kinds?: readonly FaultKind[]): boolean {
    const { faults, loop } = this.sim
    return faults.some(
      ({ kind, from: began, to }) => to > from && began <= loop.now && (!kinds || kinds.includes(kind)),
    )
  }

  /** How far the store may be off the truth. */
  get toleranceUs(): number {
    return this.sim.processes.reduce((sum, process) => sum + process.toleranceUs, 0)
  }

  get roundingUs(): number {
    return ROUND_US * this.sim.admitted
  }

  /** What processes that ended held, and what was granted and not heard: it may count as used. */
  heldOfSilentUs(work: Work, number: number): number {
    return this.sim.processes.reduce((sum, process) => {
      const { heldUs = 0 } = process.atDeath.get(`${work.id}/${number}`) ?? {}
      return sum + heldUs + process.unheardUs(work, number)
    }, 0)
  }

  /** What was granted to processes that stand still, and have not heard of it: it may count as used. */
  heldOfStillUs(work: Work, number: number): number {
    const { processes, loop, model } = this.sim
    return processes.reduce((sum, process) => {
      const field = model.hash(work.id, number)?.fields.get(process.name)
      if (field === undefined || loop.now >= process.blockedUntil) return sum
      return sum + Math.max(0, field.used + field.held - work.used(number, process))
    }, 0)
  }

  /** Unfinished prices of requests whose process is or was not heard: they may count as used. */
  unfinishedUs(work: Work, number: number): number {
    const { sim } = this
    if (sim.scenario.isCalm || sim.mode === 'killed' || sim.mode === 'stalls') return 0
    const [start, end] = [work.startOf(number), work.startOf(number + 1)]
    // Where commands get lost, another process may have heard what was told before.
    const isCut = sim.scenario.isLossy || this.isRecent(sim.loop.now - 2_500_000, ['cut', 'outage'])
    const isUnheard = (process: SimulatedProcess) =>
      isCut || process.isDown || process.isDead || process.isCutOff || process.account(work)?.isTold !== true
    let us = 0
    for (const { process, admittedPriceUs: priceUs, admittedAt, countedUs, endedAt } of sim.laws.admittedOf(work)) {
      if (endedAt < start || admittedAt >= end || !isUnheard(process)) continue
      us += Math.max(0, priceUs - countedUs)
    }
    return us
  }

  /** Work near a window's ends may be charged to the next one. */
  edgeUs(work: Work, number: number): number {
    const slack = this.boundaryUs + this.sim.scenario.network.latestUs / 2
    const [start, end] = [work.startOf(number), work.startOf(number + 1)]
    return slack * (work.across(start, slack) + work.across(end, slack))
  }
}

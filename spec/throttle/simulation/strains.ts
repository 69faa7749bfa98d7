import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'
import type { Work } from './work'

const KEPT = 2 ** (-1 / 8)
const FORGOTTEN = 1.05

/** What overshoot in earlier windows comes to, by what was truly done. */
export class Strains {
  /** What was carried into a window, by `id/number`. */
  readonly #carried = new Map<string, number>()

  constructor(readonly sim: Simulation) {}

  /** Overshoot of the last window that counts in this one, at most: µs. */
  carried(work: Work, number: number): number {
    if (this.sim.mode !== 'carried' || work.startOf(number) < 0) return 0
    const key = `${work.id}/${number}`
    let us = this.#carried.get(key)
    if (us === undefined) {
      const { limitUs } = this.sim.scenario
      us = Math.max(0, work.used(number - 1) + work.unseen(number - 1) + this.carried(work, number - 1) - limitUs)
      this.#carried.set(key, us)
    }
    return us
  }

  /** What a process that was let in to the window knows of it by itself, less what may be charged to the next window. */
  carriedKnown(work: Work, number: number): number {
    const { sim } = this
    if (sim.mode !== 'carried') return 0
    const [start, end] = [work.startOf(number), work.startOf(number + 1)]
    let us = 0
    for (const { process, admittedAt } of sim.laws.admittedOf(work))
      if (admittedAt >= start && admittedAt < end)
        us = Math.max(us, work.used(number - 1, process) - sim.scenario.limitUs)
    return Math.max(0, us - sim.laws.allow.edgeUs(work, number - 1))
  }

  /** Limits that were used beyond one in earlier windows, by all processes: no process knows more. */
  most(work: Work, number: number): number {
    const { plans } = this.sim.scenario
    const least = Math.min(...plans)
    return this.#strain(work, number, (window) => (work.used(window) + work.unseen(window)) / least)
  }

  /**
   * What processes that had a request in the window before a time have surely told: by what each did by itself. A request
   * that needs no place ahead reports.
   */
  known(work: Work, number: number, before: number): number {
    const start = work.startOf(number)
    const told = new Set<SimulatedProcess>()
    for (const { process, admittedAt } of this.sim.laws.admittedOf(work))
      if (admittedAt > start + this.sim.laws.allow.boundaryUs && admittedAt < before) told.add(process)
    let strain = 1
    for (const process of told) strain = Math.max(strain, this.ofProcess(work, number, process))
    return strain
  }

  /**
   * By what all processes did: what the record keeps from window to window, but for a window's last ticks, which the
   * others tell too late, and for what a request that ran then had done within its price: nothing tells that before its
   * end. So little strain is forgotten with its window.
   */
  ofAll(work: Work, number: number): number {
    const { limitUs } = this.sim.scenario
    const told = (window: number) =>
      work.used(window) - this.#untold(work, work.startOf(window), work.startOf(window + 1))
    const strain = this.#strain(work, number, (window) => told(window) / limitUs)
    return strain > FORGOTTEN ? strain : 1
  }

  #untold(work: Work, start: number, end: number): number {
    const from = end - this.sim.heardWithin
    let us = work.between(from, end) + work.seenLate(from, end)
    for (const { admittedAt, endedAt, admittedPriceUs } of this.sim.laws.admittedOf(work))
      if (admittedAt < from && endedAt > from) us += Math.min(admittedPriceUs, from - Math.max(start, admittedAt))
    return us
  }

  /** By what one process did by itself. */
  ofProcess(work: Work, number: number, process: SimulatedProcess): number {
    const { limitUs } = this.sim.scenario
    const strain = this.#strain(work, number, (window) => work.used(window, process) / limitUs)
    return strain > FORGOTTEN ? strain : 1
  }

  #strain(work: Work, number: number, overshoot: (window: number) => number): number {
    let strain = 1
    for (let window = work.number(0); window < number; window++) strain = Math.max(1, strain * KEPT, overshoot(window))
    return strain
  }
}

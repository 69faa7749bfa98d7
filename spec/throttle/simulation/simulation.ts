import { TICK_US } from '../../../lib/throttle/budget/report'
import { EventLoop } from './event-loop'
import { type Fault, scheduleFaults } from './faults'
import { Laws } from './laws'
import { StoreModel } from './model'
import { Random } from './random'
import { MODES, type Mode, type Scenario, randomScenario } from './scenario'
import { SimulatedProcess } from './simulated-process'
import { type Asked, SimulatedRequest } from './simulated-request'
import { EPOCH_US } from './simulated-store'
import { Work } from './work'
import { scheduleRequests } from './workload'

/** Broken laws, with what was seen. */
export type Violations = Record<string, Record<string, unknown>[]>

const MOST_FACTS = 5
const MOST_PROCESSES = 12

/** One run of real budgets over simulated time, network and store. */
export class Simulation {
  readonly policy = 'default'
  readonly loop = new EventLoop()
  readonly random: Random
  readonly scenario: Scenario
  readonly model = new StoreModel()
  readonly otherModel = new StoreModel()
  readonly works: readonly Work[]
  readonly processes: SimulatedProcess[] = []
  readonly requests: SimulatedRequest[] = []
  readonly faults: Fault[] = []
  readonly laws: Laws
  readonly violations: Violations = {}
  isStoreUp = true
  /** Commands fail while the store is down; else they get lost. */
  readonly refusesAtOnce: boolean
  commands = 0
  admitted = 0
  waited = 0
  /** Windows of processes that were held against the store. */
  checked = 0
  /** The highest part of a limit that was used in a window. */
  fullest = 0
  /** There and back, at most but for a rare case. */
  readonly roundTrip: number
  /** What a process has told is heard by another within this. */
  readonly heardWithin: number

  constructor(
    readonly seed: number,
    readonly mode: Mode,
  ) {
    this.random = new Random(seed * 31 + MODES.indexOf(mode) + 1)
    this.scenario = randomScenario(seed, mode, this.random)
    const { network, subjects, windowUs, processes } = this.scenario
    this.roundTrip = 2 * (network.delayUs + 8 * network.jitterUs)
    this.heardWithin = 2 * TICK_US + this.roundTrip
    this.refusesAtOnce = this.random.chance(0.5)
    this.works = subjects.map((subject) => new Work(subject, windowUs, () => this.loop.now))
    for (let i = 0; i < processes; i++) this.startProcess()
    this.laws = new Laws(this)
    scheduleRequests(this)
    scheduleFaults(this)
  }

  /** The server's time, µs. */
  get time(): number {
    return EPOCH_US + this.loop.now
  }

  startProcess(): void {
    if (this.processes.length < MOST_PROCESSES) this.processes.push(new SimulatedProcess(this.processes.length, this))
  }

  get alive(): readonly SimulatedProcess[] {
    return this.processes.filter(({ isDead, isClosing }) => !isDead && !isClosing)
  }

  request(process: SimulatedProcess, work: Work, asked: Asked): void {
    if (process.isDead || process.isClosing) return
    const request = new SimulatedRequest(this, process, work, asked, this.requests.length)
    this.requests.push(request)
    request.ask()
  }

  found(law: string, fact: Record<string, unknown>): void {
    const facts = (this.violations[law] ??= [])
    if (facts.length < MOST_FACTS) facts.push({ ...fact, at: this.loop.now })
  }

  async run(): Promise<this> {
    await this.loop.run(this.scenario.untilUs)
    this.laws.atEnd()
    return this
  }
}

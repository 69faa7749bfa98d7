import type { Answer, Report } from '../../../lib/throttle/budget/report'
import type { Beat, StoreServer, StoreWatcher, AccountStore } from '../../../lib/throttle/store/store'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'

/** The server's time when a run starts, µs. */
export const EPOCH_US = 1_000_000_000_000_000
/** After this a process does not wait for an answer any more. */
const DEADLINE_US = 70_000

const FIGURES = [
  ...(['ends', 'seq', 'used', 'held', 'running', 'excused', 'unseen'] as const),
  ...([
    'strain',
    'carried',
    'runsForUs',
    'neededUs',
    'count',
    'firstNeededUs',
    'askedAheadUs',
    'askedAheadPlaces',
    'limit',
    'concurrency',
  ] as const),
]
const SIGNED = new Set<string>(['used', 'unseen'])

/** One process's way to the server: commands and answers may get lost, come late or twice. */
export class SimulatedStore implements AccountStore {
  #watcher: StoreWatcher | undefined
  readonly #server: StoreServer = {
    name: undefined,
    report: (_name, reports) => this.#report(reports),
    beat: () => this.#beat(),
  }

  constructor(
    readonly sim: Simulation,
    readonly process: SimulatedProcess,
  ) {}

  serverOf(): StoreServer {
    return this.#server
  }

  watch(watcher: StoreWatcher): void {
    this.#watcher = watcher
  }

  /** A connection was made anew. */
  reconnected(): void {
    this.#watcher?.ready(this.#server)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #report(reports: readonly Report[]): Promise<readonly Answer[]> {
    const { sim, process } = this
    for (const report of reports) {
      for (const name of FIGURES) {
        const figure = report[name]
        const isWhole = Number.isSafeInteger(figure) && (figure >= 0 || SIGNED.has(name))
        if (!isWhole) sim.found('reports are whole numbers', { name, figure })
      }
    }
    sim.commands += reports.length
    const isFirst = ({ account }: Report) => account.terms.policy === sim.policy
    const sentAt = sim.loop.now
    const unheard = (answers: readonly Answer[]) => {
      const first = reports.flatMap((report, i) => (isFirst(report) ? [i] : []))
      process.unheard(
        first.map((i) => reports[i] as Report),
        first.map((i) => answers[i] as Answer),
      )
    }
    return this.#send(
      () => {
        const time = sim.time
        const { grantsAhead } = sim.scenario
        const answers = reports.map((report) => {
          const asked = grantsAhead ? report : { ...report, askedAheadUs: 0, askedAheadPlaces: 0 }
          return (isFirst(report) ? sim.model : sim.otherModel).report(process.name, asked, time)
        })
        if (answers.some(({ figures }, i) => isFirst(reports[i] as Report) && figures && figures.count > 0))
          process.grantedAt = sim.loop.now
        return answers
      },
      (answers) => {
        if (sim.loop.now - sentAt > DEADLINE_US) unheard(answers)
      },
      unheard,
    )
  }

  #beat(): Promise<Beat> {
    const { sim, process } = this
    return this.#send(
      () => sim.model.beat(process.name, sim.time),
      () => process.beatAnswered(),
    )
  }

  #send<T>(execute: () => T, heard: (answer: T) => void, unheard?: (answer: T) => void): Promise<T> {
    const then = (resolve: (answer: T) => void, reject: (cause: Error) => void) =>
      this.#sendTo(execute, (answer) => (heard(answer), resolve(answer)), reject, unheard)
    return { then } as unknown as Promise<T>
  }

  #sendTo<T>(
    execute: () => T,
    resolve: (answer: T) => void,
    reject: (cause: Error) => void,
    unheard?: (answer: T) => void,
  ): void {
    const { loop, random, scenario } = this.sim
    const { network } = scenario
    const { process } = this
    const isReachable = () => this.sim.isStoreUp && !process.isCutOff
    const way = () => network.delayUs + random.exponential(network.jitterUs / 2)
    if (!isReachable()) {
      if (this.sim.refusesAtOnce)
        loop.after(
          way(),
          process.guarded(() => reject(new Error('connection refused'))),
        )
      return
    }
    if (random.happens(network.lost)) return
    const lateUs = random.happens(network.late) ? random.fraction() * network.latestUs : 0
    const lateBackUs = random.happens(network.late / 2) ? random.fraction() * network.latestUs : 0
    loop.after(way() + lateUs, () => {
      if (!isReachable()) return
      const answer = execute()
      if (process.isDead || random.happens(network.lostReplies)) return unheard?.(answer)
      if (process.isClosing) unheard?.(answer)
      const receive = () => (isReachable() ? resolve(answer) : unheard?.(answer))
      loop.after(way() + lateBackUs, process.guarded(receive))
    })
    if (!random.happens(network.doubled)) return
    loop.after(way() + lateUs + random.fraction() * (network.latestUs || 1_000), () => {
      if (isReachable()) unheard?.(execute())
    })
  }
}

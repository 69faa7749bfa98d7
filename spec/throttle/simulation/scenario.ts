import { Random } from './random'

/** Modes in which nothing fails hold the strict laws; each of the others has one kind of fault, `everything` has all. */
export const MODES = [
  ...(['clean', 'waiting', 'hot', 'learned', 'two', 'clients', 'strain', 'carried'] as const),
  ...(['late', 'killed', 'closed', 'lost', 'rolledBack', 'evicted', 'outage', 'cutOff', 'clocks', 'stalls'] as const),
  ...(['everything', 'changing'] as const), // in the order of their coming: a seed counts the modes before
]
export type Mode = (typeof MODES)[number]

const CALM: readonly Mode[] = ['clean', 'waiting', 'hot', 'learned', 'two', 'clients', 'strain', 'carried', 'changing']
/** Prices are what requests take. */
const EXACT: readonly Mode[] = [
  'clean',
  'waiting',
  'hot',
  'two',
  'clients',
  'strain',
  'carried',
  'killed',
  'closed',
  'stalls',
]

/** What lies between a process and the store: probabilities from 0 to 1, times in µs. */
export interface Network {
  /** One way: at least this, and a random time of half this mean on top. */
  readonly delayUs: number
  readonly jitterUs: number
  readonly lost: number
  readonly lostReplies: number
  readonly doubled: number
  readonly late: number
  /** Late, and the second of doubles: by at most this. 0 where nothing is. */
  readonly latestUs: number
}

/** Windows of an attacker who takes another process for each. */
export const ATTACKED_WINDOWS = 20

/** One random run. Times in µs. */
export interface Scenario {
  readonly mode: Mode
  readonly isCalm: boolean
  readonly isExact: boolean
  readonly isHot: boolean
  readonly processes: number
  readonly windowUs: number
  readonly untilUs: number
  readonly limitUs: number
  /** Limits that requests may have. */
  readonly plans: readonly number[]
  readonly network: Network
  readonly isLossy: boolean
  readonly subjects: readonly string[]
  readonly meanUs: number
  readonly gapUs: number
  readonly routeFactors: readonly number[]
  /** Share of arrivals that are a burst; of clients that go away. */
  readonly bursts: number
  readonly leaving: number
  readonly waitUs: number
  readonly clientWaitUs: number
  /** Clocks run faster or slower by at most this share; wall clocks are off by at most this. */
  readonly drift: number
  readonly wallErrorUs: number
  /** The server grants time ahead of need. */
  readonly grantsAhead: boolean
}

export function randomScenario(seed: number, mode: Mode, r: Random): Scenario {
  const isCalm = CALM.includes(mode)
  const isAll = mode === 'everything'
  const isHot = mode === 'hot' || (mode === 'stalls' && r.chance(0.5))
  const isTight = mode === 'waiting' || mode === 'strain'
  const windowUs = isHot ? 1_500_000 : r.pick([1_500_000, 3_000_000, 6_000_000]) * (isCalm ? 1 : 2)
  const windows = mode === 'changing' ? ATTACKED_WINDOWS + 2 : mode === 'strain' || mode === 'carried' ? 6 : 3
  const untilUs = (windows + 0.5) * windowUs
  const limitUs = Math.round(windowUs * r.pick([0.1, 0.3, 0.5]))
  const load = r.pick(isHot ? [1, 2, 4] : isTight ? [0.6, 0.9, 1.2, 3] : [0.3, 1, 3, 10])
  const meanMs = r.pick(isHot ? [1, 2, 5] : isTight ? [50, 200, 500] : [0.3, 1, 5, 50, 300])
  const meanUs = meanMs * 1_000
  const network = randomNetwork(mode, r)
  return {
    ...{ mode, isCalm, isExact: EXACT.includes(mode), isHot, windowUs, untilUs, limitUs, network, meanUs },
    processes: r.pick([1, 2, 3, 4, 6, 8]),
    plans: !isHot && mode !== 'carried' && mode !== 'changing' && r.chance(0.3) ? [limitUs, limitUs >> 1] : [limitUs],
    isLossy: network.latestUs > 0,
    subjects: Array.from({ length: mode === 'changing' ? 1 : r.int(1, 3) }, (_, i) => `subject-${seed}-${i}`),
    gapUs: Math.max((meanUs * windowUs) / (limitUs * load), untilUs / (isHot ? 3_000 : 250)),
    routeFactors: [1, r.pick([0.2, 3])],
    bursts: isTight ? 0.15 : r.chance(0.3) ? 0.05 : 0,
    leaving: mode === 'waiting' || mode === 'learned' || isAll ? 0.1 : 0,
    waitUs: mode === 'waiting' ? r.pick([400_000, 5_000_000]) : 5_000_000,
    clientWaitUs: limitUs * r.pick([0.2, 1, 2]),
    drift: isCalm && mode !== 'learned' ? 0 : 2e-4,
    wallErrorUs: mode === 'clocks' ? 1e6 * r.pick([0, 1, 1_000]) : 0,
    grantsAhead: isHot || r.chance(0.85),
  }
}

function randomNetwork(mode: Mode, r: Random): Network {
  const delayUs = r.pick([50, 200, 1_000])
  const jitterUs = r.pick([50, 300, 1_500])
  const isLossy = mode === 'late' || mode === 'everything' || ((mode === 'closed' || mode === 'lost') && r.chance(0.5))
  if (!isLossy) return { delayUs, jitterUs, lost: 0, lostReplies: 0, doubled: 0, late: 0, latestUs: 0 }
  return {
    ...{ delayUs, jitterUs },
    lost: r.pick([0, 0.01, 0.05]),
    lostReplies: r.pick([0, 0.01, 0.05]),
    doubled: r.pick(mode === 'closed' ? [0.2, 0.5] : [0, 0.05, 0.2]),
    late: r.pick([0, 0.02, 0.1]),
    latestUs: r.pick([50_000, 500_000, 3_000_000]),
  }
}

import { FAULTS, injectFaults } from './faults'
import { Random } from './random'
import type { Scenario, Simulation } from './simulation'

/**
 * What goes wrong in a run. clean: nothing. waiting: nothing, but more is asked for than there is. late: commands and
 * replies are late, lost and doubled. For the others see faults.ts; everything has all of it at once, but for clocks.
 */
export type Mode = 'clean' | 'waiting' | 'late' | keyof typeof FAULTS

/** Modes in which the network loses nothing and nothing fails. */
const QUIET: readonly Mode[] = ['clean', 'waiting']
/** So many requests a subject at most, over the whole run. */
const MOST_REQUESTS = 250
/** The longest tick. */
const TICK_US = 125_000

/** Requests of some subjects to some processes over a few windows, all of it by the seed. */
export function randomScenario(seed: number, mode: Mode): Scenario {
  const random = new Random(seed * 7 + 1)
  const isQuiet = QUIET.includes(mode)
  const isLate =
    mode === 'late' || mode === 'everything' || ((mode === 'closed' || mode === 'lost') && random.chance(0.5))
  // Commands that are late by more than a closed process's name is remembered for, in windows that are long enough.
  const isVeryLate = isLate && mode === 'closed' && random.chance(0.5)
  const processes = random.pick([1, 2, 3, 4, 6, 8, random.int(1, 20)])
  const windowUs = isVeryLate
    ? 25_000_000
    : random.pick(isQuiet ? [1_500_000, 3_000_000, 6_000_000] : [3_000_000, 6_000_000, 8_000_000])
  const untilUs = (isVeryLate ? 2 : 3.5) * windowUs
  const limitUs = Math.round(windowUs * random.pick([0.1, 0.3, 0.5]))
  const freshUs = random.pick([100_000, 250_000, 250_000])
  const delayUs = random.pick([50, 200, 1_000])
  const jitterUs = random.pick([50, 300, 1_500])
  const late = isVeryLate ? { lateCommands: 0.02, duplicates: 0.02, latestUs: 20_000_000 } : unreliable(random)
  const network = { delayUs, jitterUs, ...(isLate && late) }
  const subjects = random.int(1, 3)
  const load = random.pick(mode === 'waiting' ? [0.6, 0.9, 1.2] : [0.3, 1, 3, 10])
  const meanUs = random.pick(mode === 'waiting' ? [50, 200, 500] : [1, 5, 50, 300]) * 1_000
  const gapUs = Math.max((meanUs * windowUs) / (limitUs * load), untilUs / MOST_REQUESTS)
  const roundTripUs = 2 * (delayUs + 8 * jitterUs)
  const waits = mode === 'waiting' || random.chance(0.7)
  return {
    ...{ processes, network, untilUs, retried: 0.5 },
    drift: mode === 'waiting' ? 0 : 2e-4,
    ...(mode === 'clocks' && { wallErrorUs: random.pick([300_000, 3_600_000_000]) }),
    window: {
      limitUs,
      windowUs,
      freshUs,
      rests: mode !== 'clocks',
      ...(waits && {
        wait: {
          maxUs: mode === 'waiting' ? random.pick([400_000, 5_000_000]) : 5_000_000,
          perSubject: random.pick([4, 64]),
        },
      }),
    },
    // Where commands get lost, these have no bound.
    ...(isQuiet && {
      bounds: {
        overLimitUs: 3_000 + 0.03 * limitUs,
        lateUs: freshUs + roundTripUs + 2_000,
      },
    }),
    // A tick and the way to Redis, looked at now and then; what a killed process held stays for two stretches of 2 s.
    ...(isQuiet && { idleUs: TICK_US + 25_000 + roundTripUs }),
    ...(mode === 'killed' && { idleUs: TICK_US + 25_000 + roundTripUs + 4_000_000 }),
    lagUs: freshUs / 2 + roundTripUs + 150_000,
    boundaryUs: 2 * (delayUs + 3 * jitterUs) + 1_000,
    reconnectsUnseen: random.chance(0.5),
    begin(simulation) {
      for (let i = 0; i < subjects; i++) {
        requests(simulation, `s${i}`, {
          ...{ meanUs, gapUs, windowUs, limitUs },
          isExact: isQuiet,
          bursts: mode === 'waiting' ? 0.15 : random.chance(0.3) ? 0.05 : 0,
          plans: random.chance(0.3) ? [limitUs, limitUs / 2] : [limitUs],
          leaving: mode === 'waiting' || mode === 'everything' ? 0.1 : 0,
        })
      }
      if (mode in FAULTS) injectFaults(simulation, FAULTS[mode as keyof typeof FAULTS], windowUs)
    },
  }
}

function unreliable(random: Random) {
  return {
    lostCommands: random.pick([0, 0.01, 0.05]),
    lostReplies: random.pick([0, 0.01, 0.05]),
    duplicates: random.pick([0, 0.05, 0.2]),
    lateCommands: random.pick([0, 0.02, 0.1]),
    lateReplies: random.pick([0, 0.02]),
    latestUs: random.pick([50_000, 500_000, 3_000_000]),
  }
}

interface Requests {
  readonly meanUs: number
  readonly gapUs: number
  readonly windowUs: number
  readonly limitUs: number
  /** The share of requests that come with many others. */
  readonly bursts: number
  /** What a request takes is known beforehand. */
  readonly isExact: boolean
  /** Limits of the requests. */
  readonly plans: readonly number[]
  /** The share of clients that go away before long. */
  readonly leaving: number
}

/** One subject's requests: some subjects use one process only, some send bursts, all of them pause now and then. */
function requests(simulation: Simulation, subject: string, options: Requests): void {
  const { meanUs, gapUs, windowUs, isExact, plans, leaving, bursts } = options
  const { loop, random, processes } = simulation
  const process = random.chance(0.3) ? random.int(0, processes.length - 1) : undefined
  const duration = () => {
    if (random.chance(0.02)) return random.fraction() * 3 * windowUs
    return random.exponential(random.chance(0.1) ? 4 * meanUs : meanUs)
  }
  const next = () => {
    const count = random.happens(bursts) ? random.int(2, 40) : 1
    for (let i = 0; i < count; i++) {
      const us = Math.max(1_000, Math.round(duration()))
      const estimateUs = isExact ? us : Math.max(1_000, Math.round(us * (0.5 + random.fraction())))
      const patienceUs = random.happens(leaving) ? random.fraction() * 500_000 : undefined
      simulation.request({ subject, us, estimateUs, process, limitUs: random.pick(plans), patienceUs })
    }
    const pause = random.chance(0.01) ? random.exponential(windowUs / 2) : 0
    loop.after(Math.max(200, random.exponential(gapUs * count)) + pause, next)
  }
  loop.after(60_000 + (random.fraction() * windowUs) / 2, next)
}

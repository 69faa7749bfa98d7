import { injectFaults } from './faults'
import { Random } from './random'
import type { Scenario, Simulation } from './simulation'

/** clean: a good network. late: commands and replies late, lost and doubled. faults: Redis and processes fail, too. */
export type Mode = 'clean' | 'late' | 'faults'

/** Requests of some subjects to some processes over four windows, all of it by the seed. */
export function randomScenario(seed: number, mode: Mode): Scenario {
  const random = new Random(seed * 7 + 1)
  const processes = random.int(1, 20)
  const windowUs = random.pick([2_000_000, 6_000_000, 10_000_000])
  const limitUs = Math.round(windowUs * random.pick([0.1, 0.3, 0.5]))
  const freshUs = random.pick([100_000, 250_000])
  const delayUs = random.pick([50, 200, 1_000])
  const jitterUs = random.pick([50, 300, 1_500])
  const network = mode === 'clean' ? { delayUs, jitterUs } : { delayUs, jitterUs, ...unreliable(random) }
  const subjects = random.int(1, 4)
  const load = random.pick([0.3, 1, 3, 10])
  const meanUs = random.pick([1, 5, 50, 300]) * 1_000
  const gapUs = (meanUs * windowUs) / (limitUs * load)
  const roundTripUs = 2 * (delayUs + 8 * jitterUs)
  return {
    ...{ processes, network, drift: 2e-4, untilUs: 4 * windowUs, retried: 0.5 },
    window: { limitUs, windowUs, freshUs, ...(random.chance(0.7) && { wait: { maxUs: 5_000_000, perSubject: 64 } }) },
    // Where commands get lost, these have no bound.
    ...(mode === 'clean' && {
      bounds: { overLimitUs: 3_000 + 0.03 * limitUs, lateUs: freshUs + roundTripUs + 2_000 },
    }),
    boundaryUs: 2 * (delayUs + 3 * jitterUs) + 1_000,
    reconnectsUnseen: random.chance(0.5),
    begin(simulation) {
      for (let i = 0; i < subjects; i++) {
        requests(simulation, `s${i}`, { meanUs, gapUs, windowUs, estimates: mode === 'clean' ? 'exact' : 'rough' })
      }
      if (mode === 'faults') injectFaults(simulation, windowUs)
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
  readonly estimates: 'exact' | 'rough'
}

/** One subject's requests: some subjects use one process only, some send bursts, all of them pause now and then. */
function requests(simulation: Simulation, subject: string, { meanUs, gapUs, windowUs, estimates }: Requests): void {
  const { loop, random, processes } = simulation
  const process = random.chance(0.3) ? random.int(0, processes.length - 1) : undefined
  const bursts = random.chance(0.3)
  const duration = () => {
    if (random.chance(0.02)) return random.fraction() * 3 * windowUs
    return random.exponential(random.chance(0.1) ? 4 * meanUs : meanUs)
  }
  const next = () => {
    const count = bursts && random.chance(0.05) ? random.int(2, 40) : 1
    for (let i = 0; i < count; i++) {
      const us = Math.max(1_000, Math.round(duration()))
      const estimateUs = estimates === 'exact' ? us : Math.max(1_000, Math.round(us * (0.5 + random.fraction())))
      simulation.request({ subject, us, estimateUs, process })
    }
    const pause = random.chance(0.01) ? random.exponential(windowUs / 2) : 0
    loop.after(Math.max(200, random.exponential(gapUs * count)) + pause, next)
  }
  loop.after((random.fraction() * windowUs) / 2, next)
}

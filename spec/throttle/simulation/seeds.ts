import { mock } from 'node:test'
import type { Mode } from './scenario'
import { Simulation } from './simulation'

/** Runs of each mode, and the first of them: `SIMULATION_SEEDS=2000 SIMULATION_FROM=1000001 npm test -- simulation`. */
export const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 12)
export const FROM = Number(process.env.SIMULATION_FROM ?? 1)

/** One run. Its outages are no news. */
export async function runSeed(mode: Mode, seed: number): Promise<Simulation> {
  const { mock: warnings } = mock.method(process, 'emitWarning', () => undefined)
  try {
    return await new Simulation(seed, mode).run()
  } finally {
    warnings.restore()
  }
}

import assert from 'node:assert/strict'
import { mock } from 'node:test'
import type { Mode } from './scenario'
import { Simulation } from './simulation'

/**
 * Runs of each mode, and the first of them: `SIMULATION_SEEDS=2000 SIMULATION_FROM=1000001 npm test -- simulation`.
 * simulation.long.ts has twenty more.
 */
export const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 5)
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

/** Runs so many seeds of a mode, and asserts that they break no law. @returns what was seen */
export async function runSeeds(mode: Mode, from: number, count: number): Promise<string> {
  const broken: Record<string, number[]> = {}
  let [requests, admitted, waited, commands, faults] = [0, 0, 0, 0, 0]
  for (let seed = from; seed < from + count; seed++) {
    const sim = await runSeed(mode, seed)
    for (const law of Object.keys(sim.violations)) (broken[law] ??= []).push(seed)
    requests += sim.requests.length
    admitted += sim.admitted
    waited += sim.waited
    commands += sim.commands
    faults += sim.faults.length
  }
  assert.deepEqual(broken, {}, 'laws that are broken, and the seeds')
  assert.ok(admitted > 20 * count && waited > 10 * count, `${admitted} admitted, ${waited} waited`)
  return `${requests} requests, ${admitted} admitted, ${waited} waited, ${commands} reports, ${faults} faults`
}

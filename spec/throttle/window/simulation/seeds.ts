import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { tell } from '../../../chaos/table'
import { violations } from './laws'
import { type Changes, Simulation } from './simulation'
import type { Violations } from './watch'
import { type Mode, randomScenario } from './workload'

/** Runs of each mode; `npm run chaos` has thousands. */
export const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 300)

/** What is seen of a run of one mode. */
export interface Seen {
  readonly simulation: Simulation
  readonly violations: Violations
}

export async function runSeed(mode: Mode, seed: number, changes?: Changes): Promise<Seen> {
  const simulation = new Simulation(seed, randomScenario(seed, mode), changes)
  await simulation.run()
  return { simulation, violations: violations(simulation) }
}

/** A test for each mode, with all its seeds. @param laws what each of them is held to */
export function runAllSeeds(modes: readonly Mode[], laws: string): void {
  for (const mode of modes) it(`${mode}: ${laws} over ${SEEDS} seeds`, (t) => runSeeds(t, mode))
}

/** Runs all seeds of a mode; none may break a law. */
async function runSeeds(t: TestContext, mode: Mode): Promise<void> {
  let admitted = 0
  let waited = 0
  let retried = 0
  let faults = 0
  const begun = performance.now()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { simulation, violations } = await runSeed(mode, seed)
    assert.deepEqual(violations, {}, `seed ${seed}`)
    admitted += simulation.served.length
    waited += simulation.served.filter(({ waitsUs }) => waitsUs !== undefined).length
    retried += simulation.retries
    faults += simulation.faults.length
  }
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  tell(t, {
    what: `simulated, ${mode}: ${SEEDS} seeds`,
    figure: `${admitted} requests admitted, ${waited} of them waited, ${retried} retried, ${faults} faults, ${seconds} s: no violation`,
    bound: 'every law of spec/throttle/window/simulation/laws.ts and watch.ts',
  })
  assert.ok(admitted > 40 * SEEDS && waited > SEEDS && retried > SEEDS, `${admitted}, ${waited}, ${retried}`)
  if (mode !== 'clean' && mode !== 'waiting' && mode !== 'late') assert.ok(faults > SEEDS, `${faults} faults`)
}

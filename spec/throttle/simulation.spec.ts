import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MODES, type Mode } from './simulation/scenario'
import { FROM, SEEDS, runSeed } from './simulation/seeds'

describe('the ledger keeps its laws in the simulator', () => {
  for (const mode of MODES)
    it(`${mode}: ${SEEDS} seeds from ${FROM} on`, async (t) => t.diagnostic(await runSeeds(mode)))

  /** @returns what was seen */
  async function runSeeds(mode: Mode): Promise<string> {
    const broken: Record<string, number[]> = {}
    let [requests, admitted, waited, commands, faults] = [0, 0, 0, 0, 0]
    for (let seed = FROM; seed < FROM + SEEDS; seed++) {
      const sim = await runSeed(mode, seed)
      for (const law of Object.keys(sim.violations)) (broken[law] ??= []).push(seed)
      requests += sim.requests.length
      admitted += sim.admitted
      waited += sim.waited
      commands += sim.commands
      faults += sim.faults.length
    }
    assert.deepEqual(broken, {}, 'laws that are broken, and the seeds')
    assert.ok(admitted > 20 * SEEDS && waited > 10 * SEEDS, `${admitted} admitted, ${waited} waited`)
    return `${requests} requests, ${admitted} admitted, ${waited} waited, ${commands} reports, ${faults} faults`
  }
})

// More seeds of simulation.spec.ts.
import { describe, it } from 'node:test'
import { MODES } from './simulation/scenario'
import { runSeeds } from './simulation/seeds'

/** Those after the ones of simulation.spec.ts. */
const [FROM, SEEDS] = [6, 20]

describe('the ledger keeps its laws in the simulator', () => {
  for (const mode of MODES)
    it(`${mode}: ${SEEDS} seeds from ${FROM} on`, async (t) => t.diagnostic(await runSeeds(mode, FROM, SEEDS)))
})

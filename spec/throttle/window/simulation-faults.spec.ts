import { describe, it } from 'node:test'
import { STORE_FAULTS } from './simulation/faults'
import { runSeeds, SEEDS } from './simulation/seeds'

describe('the engine keeps its laws in the simulator, whatever fails', () => {
  for (const mode of STORE_FAULTS) {
    it(`${mode}: nothing lost or doubled beyond the bounds, all whole again over ${SEEDS} seeds`, (t) =>
      runSeeds(t, mode))
  }
})

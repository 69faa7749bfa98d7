import { describe, it } from 'node:test'
import { FAULTS } from './simulation/faults'
import { runSeeds, SEEDS } from './simulation/seeds'

describe('the engine keeps its laws in the simulator, whatever fails', () => {
  for (const mode of Object.keys(FAULTS) as (keyof typeof FAULTS)[]) {
    it(`${mode}: nothing lost or doubled beyond the bounds, all whole again over ${SEEDS} seeds`, (t) =>
      runSeeds(t, mode))
  }
})

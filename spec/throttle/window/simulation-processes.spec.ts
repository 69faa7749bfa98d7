import { describe, it } from 'node:test'
import { PROCESS_FAULTS } from './simulation/faults'
import { runSeeds, SEEDS } from './simulation/seeds'

describe('the engine keeps its laws in the simulator, whichever process ends or stands still', () => {
  for (const mode of PROCESS_FAULTS) {
    it(`${mode}: nothing lost or doubled beyond the bounds, all whole again over ${SEEDS} seeds`, (t) =>
      runSeeds(t, mode))
  }
})

import { describe } from 'node:test'
import { STORE_FAULTS } from './simulation/faults'
import { runAllSeeds } from './simulation/seeds'

describe('the engine keeps its laws in the simulator, whatever fails', () => {
  runAllSeeds(STORE_FAULTS, 'nothing lost or doubled beyond the bounds, all whole again')
})

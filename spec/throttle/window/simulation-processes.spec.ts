import { describe } from 'node:test'
import { PROCESS_FAULTS } from './simulation/faults'
import { runAllSeeds } from './simulation/seeds'

describe('the engine keeps its laws in the simulator, whichever process ends or stands still', () => {
  runAllSeeds(PROCESS_FAULTS, 'nothing lost or doubled beyond the bounds, all whole again')
})

import assert from 'node:assert/strict'
import { type TestContext, afterEach, describe, it, mock } from 'node:test'
import { FULL, tell } from '../../chaos/table'
import { type Mutant, WAITING_MUTANTS, WINDOW_MUTANTS } from './simulation/mutants'
import { runSeed } from './simulation/seeds'

/** A mutant must be found in one of so many runs: the rarest is in one of fifty. */
const SEEDS = 120

/** Without `FULL` up to the first run that finds it, which must pass where nothing is left out. */
async function find(t: TestContext, { lacks, mode, changes, patch }: Mutant): Promise<void> {
  const found: number[] = []
  const laws = new Set<string>()
  patch?.()
  let seed = 1
  for (; seed <= SEEDS && (FULL || found.length === 0); seed++) {
    const { violations } = await runSeed(mode, seed, changes)
    if (Object.keys(violations).length > 0) found.push(seed)
    for (const law of Object.keys(violations)) laws.add(law)
  }
  mock.restoreAll()
  const figure = `found in ${found.length} of ${seed - 1} seeds`
  tell(t, { what: `simulated, ${mode}, without ${lacks}`, figure, bound: [...laws].join('; ') })
  const [first] = found
  assert.ok(first !== undefined, `not found in ${SEEDS} seeds`)
  assert.deepEqual((await runSeed(mode, first)).violations, {}, `seed ${first} without the mutant`)
}

describe('the simulator finds out', () => {
  afterEach(() => mock.restoreAll())

  for (const mutant of WINDOW_MUTANTS) it(`a window that lacks ${mutant.lacks}`, (t) => find(t, mutant))
  for (const mutant of WAITING_MUTANTS) it(`waiting that lacks ${mutant.lacks}`, (t) => find(t, mutant))
})

// The core over a simulated Redis, network and clocks keeps its laws: simulation/laws.ts.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MODES, type Mode } from './simulation/scenario'
import { FROM, SEEDS, runSeed, runSeeds } from './simulation/seeds'

/** Seeds in which a law found a fault of the core once. */
const FAULTS: readonly (readonly [Mode, number])[] = [
  ['carried', 1_001_245], // strain counted finer than in the store: granted again and again, never started
  ['hot', 1_001_085],
  ['hot', 1_000_787], // the last places kept ahead by a process that did not use them
  ['hot', 1_001_518],
  ['hot', 3_000_086], // more started from a grant than there were places by then
  ['hot', 3_001_236], // the last places kept ahead
  ['clients', 3_000_490], // a cap of client waits that others did not hear of
  ['waiting', 3_000_584], // time seen late, which did not count towards strain
  ['everything', 2_000_167], // a closing report whose answer was lost: the field was moved and told anew
  ['closed', 2_000_636], // a late copy of the first report brought a field back that had been moved; a later copy added to it
  ['late', 650], // a reply that took seconds set the clock: drift was not counted while it was under way
  ['hot', 2_326], // the last places kept ahead by a process that has half of them at most
  ['hot', 4_000_538], // the last places kept by requests that had ended
  ['two', 4_001_670], // the same, beside a request that was parked
  ['two', 889], // time for a line that was granted in part, and kept for as long as a standing grant
  ['hot', 1_129], // the end of a budget, kept by two standing grants of large prices
  ['killed', 9_001_547], // a process that had just started granted the whole limit before it had asked
  ['closed', 9_001_097], // the same
  ['two', 7_021], // the law took two waits of one request for one
  ['strain', 2_001_344], // the law counted what ran across the boundary before the store was told
]

/** Seeds above five that find mutants of simulation/mutants.ts which the first five of each mode do not find. */
const FINDERS: readonly (readonly [Mode, number])[] = [
  ['late', 7], // the order of reports
  ['waiting', 7], // what others have ahead
  ['outage', 8], // what others held in an outage
  ['carried', 9], // debt heard
  ['killed', 10], // what was not told at a window's end, and strain that a process had not told
]

describe('the ledger keeps its laws in the simulator', () => {
  for (const mode of MODES)
    it(`${mode}: ${SEEDS} seeds from ${FROM} on`, async (t) => t.diagnostic(await runSeeds(mode, FROM, SEEDS)))

  it('in seeds that found a fault or a mutant once', async () => {
    for (const [mode, seed] of [...FAULTS, ...FINDERS])
      assert.deepEqual((await runSeed(mode, seed)).violations, {}, `${mode} ${seed}`)
  })
})

// The simulator's laws find each mechanism of the core that is taken out.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mutated } from './simulation/mutated'
import { MUTANTS, type Mutant } from './simulation/mutants'
import { FROM, SEEDS, runSeed } from './simulation/seeds'

const IS_LONG = process.env.SIMULATION_SEEDS !== undefined
/** A mutant is found in one of so many seeds of a mode; in five where SIMULATION_SEEDS asks for more than usual. */
const MOST = Math.max(SEEDS, 300)
const FOUND = IS_LONG ? 5 : 1

describe('the simulator finds out what the core lacks', () => {
  for (const mutant of MUTANTS) it(mutant.lacks, async (t) => t.diagnostic(await find(mutant)))

  /** Usually it looks from the seed on that found the mutant once. @returns the laws that found it */
  async function find(mutant: Mutant): Promise<string> {
    const run = await mutated(mutant, `mutant-${MUTANTS.indexOf(mutant)}`)
    const laws = new Set<string>()
    for (const mode of mutant.modes) {
      const found: number[] = []
      const from = !IS_LONG && mode === mutant.modes[0] ? mutant.seed : FROM
      for (let seed = from; seed < from + MOST && found.length < FOUND; seed++) {
        const broken = Object.keys((await run(mode, seed)).violations)
        if (broken.length > 0 && Object.keys((await runSeed(mode, seed)).violations).length === 0) found.push(seed)
        for (const law of broken) laws.add(law)
      }
      if (found.length >= FOUND) return `${mode}, seeds ${found.join(', ')}: ${[...laws].join('; ')}`
    }
    return assert.fail(`not found in ${FOUND} of ${MOST} seeds of ${mutant.modes.join(', ')}`)
  }
})

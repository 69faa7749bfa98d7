import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tell } from '../../chaos/table'
import { violations } from './simulation/laws'
import { Simulation } from './simulation/simulation'
import { randomScenario } from './simulation/workload'

const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 300)
const NETWORK = { delayUs: 100, jitterUs: 50 }

describe('the engine keeps its laws in the simulator', () => {
  for (const mode of ['clean', 'late', 'faults'] as const) {
    it(`${mode}: no charge lost or doubled, burst, staleness, honest Retry-After over ${SEEDS} seeds`, (t) => {
      let admitted = 0
      let retried = 0
      for (let seed = 1; seed <= SEEDS; seed++) {
        const simulation = new Simulation(seed, randomScenario(seed, mode))
        assert.deepEqual(violations(simulation), {}, `seed ${seed}`)
        admitted += simulation.served.length
        retried += simulation.retries
      }
      tell(t, {
        what: `simulated, ${mode}: ${SEEDS} seeds`,
        figure: `${admitted} requests admitted, ${retried} retried: no violation`,
        bound: 'nothing lost or doubled; burst, staleness, Retry-After',
      })
      assert.ok(admitted > 350 * SEEDS, `${admitted} admitted`)
      assert.ok(retried > SEEDS, `${retried} retries`)
    })
  }

  /** 1,000 requests of one subject at once over some processes, in one window. */
  function burst(
    seed: number,
    us: number,
    options: { processes?: number; limitUs?: number; route?: 'known' | 'unknown'; gapUs?: number },
  ) {
    const { processes = 8, limitUs = 1_000_000, route = 'known', gapUs = 0 } = options
    return new Simulation(seed, {
      ...{ processes, network: NETWORK, untilUs: 9_900_000 },
      window: { phase: 0, limitUs, windowUs: 10_000_000, freshUs: 250_000 },
      begin(simulation) {
        const { loop, random } = simulation
        const estimateUs = route === 'known' ? us : undefined
        const ask = () =>
          simulation.request({ subject: 'burst', us: us + Math.round(random.fraction() * 1_000), estimateUs })
        loop.after(200_000, () => {
          for (let i = 0; i < 1_000; i++) loop.after(i * gapUs, ask)
        })
      },
    })
  }
  /** In seconds: shares of a budget of one. */
  const work = ({ served }: Simulation) => served.reduce((sum, { us }) => sum + us, 0) / 1_000_000

  it('a burst over eight processes stays within the budget and uses it', () => {
    for (let seed = 1; seed <= 30; seed++) {
      for (const ms of [100, 450, 500]) {
        const done = work(burst(seed, ms * 1_000, {}))
        assert.ok(done >= 0.75 && done <= 1.05, `seed ${seed}, ${ms} ms: ${done} of the budget`)
      }
      // 10 ms apart: the last one admitted comes when the others have ended and the limit is not reached
      const apart = work(burst(seed, 100_000, { gapUs: 10_000 }))
      assert.ok(apart <= 1.12, `seed ${seed}, 10 ms apart: ${apart}`)
    }
  })

  it('a burst on a route not known yet is bounded by the cold estimate', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { served } = burst(seed, 2_000_000, { limitUs: 18_000_000, route: 'unknown' })
      assert.ok(served.length <= Math.floor((18_000 * 1.03) / 500), `${served.length} admitted`)
    }
  })

  it('an outage of a whole window costs no more than the limit in each process', () => {
    for (const processes of [1, 4, 20]) {
      const simulation = new Simulation(processes, {
        ...{ processes, network: NETWORK, untilUs: 9_800_000 },
        window: { phase: 0, limitUs: 1_000_000, windowUs: 10_000_000, freshUs: 250_000 },
        begin(simulation) {
          const { loop, random, redis } = simulation
          redis.isUp = false
          for (let i = 0; i < 3_000; i++) {
            loop.after(100_000 + random.fraction() * 3_000_000, () =>
              simulation.request({ subject: 'outage', us: 20_000, estimateUs: 20_000 }),
            )
          }
        },
      })
      const budgets = work(simulation)
      assert.ok(budgets <= 1.05 * processes, `${processes} processes: ${budgets} budgets`)
      assert.ok(budgets >= 0.75 * processes, `${processes} processes: ${budgets} budgets`)
    }
  })
})

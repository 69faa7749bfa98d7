import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tell } from '../../chaos/table'
import { missing, sharedPath } from '../../support/shared'
import { Host } from './simulation/host'

interface Config {
  o: Record<string, unknown>
  [name: string]: unknown
}
interface Outcome {
  viol: Record<string, unknown[]>
  stats: Record<string, number>
  reqs: { dur: number }[]
}
interface Simulator {
  readonly run: (seed: number, config: Config) => Outcome
}
interface Seeds {
  readonly cfgOf: (seed: number, mode: string) => Config
}
interface Setup {
  sim: { after(us: number, fn: () => void): void }
  doReq(subject: string, us: number, estimateUs: number): void
}

const skip = missing('protocol')
// eslint-disable-next-line @typescript-eslint/no-require-imports -- read only where it is there
const load = <T>(file: string): T => require(sharedPath(`protocol/${file}`)) as T

/** The study's simulator with the real engine in its processes, and the script's model in its Redis. */
function run(seed: number, config: Config): Outcome {
  return load<Simulator>('run.js').run(seed, { ...config, o: { ...config.o, engine: Host } })
}

const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 300)

describe('the engine keeps its laws in the simulator', () => {
  for (const mode of ['clean', 'late', 'faults']) {
    it(
      `${mode}: no charge lost or doubled, burst, staleness, honest Retry-After over ${SEEDS} seeds`,
      { skip },
      (t) => {
        const { cfgOf } = load<Seeds>('t1.js')
        let admitted = 0
        let retries = 0
        for (let seed = 1; seed <= SEEDS; seed++) {
          const { viol, stats } = run(seed, cfgOf(seed, mode))
          assert.deepEqual(viol, {}, `seed ${seed}`)
          admitted += stats.nAdm as number
          retries += stats.retries as number
        }
        tell(t, {
          what: `simulated, ${mode}: ${SEEDS} seeds`,
          figure: `${admitted} requests admitted, ${retries} retried: no violation`,
          bound: 'nothing lost or doubled; burst, staleness, Retry-After',
        })
        assert.ok(admitted > 500 * SEEDS, `${admitted} admitted`)
        assert.ok(retries > SEEDS, `${retries} retries`)
      },
    )
  }

  /** 1,000 requests of one subject at once over some processes, in one window. */
  function burst(
    seed: number,
    us: number,
    options: { processes?: number; limit?: number; estimate?: number; gap?: number },
  ) {
    const { processes = 8, limit = 1_000_000, estimate = us, gap = 0 } = options
    return run(seed, {
      ...{ N: processes, net: { d0: 100, dj: 50 }, retry: 0, until: 9_900_000 },
      o: { phase: 0, limit, W: 10_000, F: 250_000 },
      setup(S: Setup, random: () => number) {
        S.sim.after(200_000, () => {
          const ask = () => S.doReq('burst', us + Math.round(random() * 1_000), estimate)
          for (let i = 0; i < 1_000; i++) S.sim.after(i * gap, ask)
        })
      },
    })
  }
  const work = ({ reqs }: Outcome) => reqs.reduce((sum, { dur }) => sum + dur, 0) / 1_000_000

  it('a burst over eight processes stays within the budget and uses it', { skip }, () => {
    for (let seed = 1; seed <= 30; seed++) {
      for (const ms of [100, 450, 500]) {
        const done = work(burst(seed, ms * 1_000, {}))
        assert.ok(done >= 0.75 && done <= 1.05, `seed ${seed}, ${ms} ms: ${done} of the budget`)
      }
      // 10 ms apart: the last one admitted comes when the others have ended and the limit is not reached
      const apart = work(burst(seed, 100_000, { gap: 10_000 }))
      assert.ok(apart <= 1.12, `seed ${seed}, 10 ms apart: ${apart}`)
    }
  })

  it('a burst on a route not known yet is bounded by the cold estimate', { skip }, () => {
    for (let seed = 1; seed <= 10; seed++) {
      const cold = burst(seed, 2_000_000, { limit: 18_000_000, estimate: -1 })
      assert.ok(cold.reqs.length <= Math.floor((18_000 * 1.03) / 500), `${cold.reqs.length} admitted`)
    }
  })

  it('an outage of a whole window costs no more than the limit in each process', { skip }, () => {
    for (const processes of [1, 4, 20]) {
      const { reqs } = run(processes, {
        ...{ N: processes, net: { d0: 100, dj: 50 }, retry: 0, until: 9_800_000 },
        o: { phase: 0, limit: 1_000_000, W: 10_000, F: 250_000 },
        setup(S: Setup & { redis: { up: boolean } }, random: () => number) {
          S.redis.up = false
          for (let i = 0; i < 3_000; i++) {
            S.sim.after(100_000 + random() * 3_000_000, () => S.doReq('outage', 20_000, 20_000))
          }
        },
      })
      const budgets = reqs.reduce((sum, { dur }) => sum + dur, 0) / 1_000_000
      assert.ok(budgets <= 1.05 * processes, `${processes} processes: ${budgets} budgets`)
      assert.ok(budgets >= 0.75 * processes, `${processes} processes: ${budgets} budgets`)
    }
  })
})

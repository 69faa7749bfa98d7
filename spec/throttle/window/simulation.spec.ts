import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { subjectId } from '../../../lib/throttle/window/subject-id'
import { runAllSeeds } from './simulation/seeds'
import { Simulation } from './simulation/simulation'
import { EPOCH_US } from './simulation/simulated-redis'

const NETWORK = { delayUs: 100, jitterUs: 50 }
const WINDOW_US = 10_000_000
const PATIENT = { maxUs: 5_000_000, perSubject: 64 }

/** When a subject's first whole window begins that finds the processes knowing of each other. */
function windowStartUs(subject: string): number {
  const { phase } = subjectId(subject, WINDOW_US)
  const us = WINDOW_US - ((EPOCH_US + phase) % WINDOW_US)
  return us > 3_000_000 ? us : us + WINDOW_US
}

describe('the engine keeps its laws in the simulator', () => {
  runAllSeeds(['clean', 'waiting', 'late'], 'charges, bursts, staleness, the order of those who wait, Retry-After')

  interface Burst {
    readonly processes?: number
    readonly limitUs?: number
    readonly route?: 'known' | 'unknown'
    readonly gapUs?: number
    readonly waits?: boolean
    readonly freshUs?: number
  }

  /** Requests of one subject at once over some processes, in one window. */
  function burst(seed: number, us: number, options: Burst): Promise<Simulation> {
    const { processes = 8, limitUs = 1_000_000, route = 'known', gapUs = 0, waits = false, freshUs = 250_000 } = options
    const startUs = windowStartUs('burst')
    return new Simulation(seed, {
      ...{ processes, network: NETWORK, untilUs: startUs + WINDOW_US - 100_000, lagUs: 300_000, boundaryUs: 1_000 },
      window: { limitUs, windowUs: WINDOW_US, freshUs, ...(waits && { wait: PATIENT }) },
      begin({ loop, random, request }) {
        const estimateUs = route === 'known' ? us : undefined
        const ask = () =>
          request({ subject: 'burst', us: us + Math.round(random.fraction() * 1_000), estimateUs, limitUs })
        loop.after(startUs + 200_000, () => {
          for (let i = 0; i < 500; i++) loop.after(i * gapUs, ask)
        })
      },
    }).run()
  }
  /** In seconds: shares of a budget of one. */
  const work = ({ served }: Simulation) => served.reduce((sum, { asked }) => sum + asked.us, 0) / 1_000_000

  it('a burst over eight processes stays within the budget and uses it', async () => {
    for (let seed = 1; seed <= 15; seed++) {
      for (const ms of [100, 450, 500]) {
        const done = work(await burst(seed, ms * 1_000, {}))
        assert.ok(done >= 0.75 && done <= 1.05, `seed ${seed}, ${ms} ms: ${done} of the budget`)
      }
      // 10 ms apart: the last one admitted comes when the others have ended and the limit is not reached
      const apart = work(await burst(seed, 100_000, { gapUs: 10_000 }))
      assert.ok(apart <= 1.12, `seed ${seed}, 10 ms apart: ${apart}`)
    }
  })

  it('a burst that may wait comes to the budget and its longest request', async () => {
    for (let seed = 1; seed <= 15; seed++) {
      for (const ms of [50, 100, 450]) {
        const done = work(await burst(seed, ms * 1_000, { waits: true }))
        assert.ok(done >= 0.9 && done <= 1.04 + ms / 1_000, `seed ${seed}, ${ms} ms: ${done} of the budget`)
      }
    }
  })

  it('a burst stays within the budget where figures may be five seconds old', async () => {
    for (let seed = 1; seed <= 15; seed++) {
      for (const ms of [50, 450]) {
        const done = work(await burst(seed, ms * 1_000, { freshUs: 5_000_000 }))
        assert.ok(done >= 0.75 && done <= 1.05, `seed ${seed}, ${ms} ms: ${done} of the budget`)
      }
    }
  })

  it('a burst on a route not known yet is bounded by the cold estimate', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { served } = await burst(seed, 2_000_000, { limitUs: 18_000_000, route: 'unknown' })
      assert.ok(served.length <= Math.floor((18_000 * 1.03) / 3_000), `${served.length} admitted`)
    }
  })

  /** Redis goes away before a window begins; all requests of the window come within a time. */
  function outage(processes: number, awayUs: number, spreadUs: number, us: number): Promise<Simulation> {
    const startUs = windowStartUs('outage')
    const limitUs = 1_000_000
    return new Simulation(processes, {
      ...{ processes, network: NETWORK, untilUs: startUs + WINDOW_US - 200_000, lagUs: 0, boundaryUs: 1_000 },
      window: { limitUs, windowUs: WINDOW_US, freshUs: 250_000 },
      begin({ loop, random, redis, request }) {
        loop.after(startUs - awayUs, () => (redis.isUp = false))
        for (let i = 0; i < 1_500; i++) {
          loop.after(startUs + 100_000 + random.fraction() * spreadUs, () =>
            request({ subject: 'outage', us, estimateUs: us, limitUs }),
          )
        }
      },
    }).run()
  }

  it('an outage of a whole window costs no more than the limit in each process', async () => {
    for (const processes of [1, 4, 12]) {
      const budgets = work(await outage(processes, 2_000_000, 3_000_000, 20_000))
      assert.ok(
        budgets <= 1.05 * processes && budgets >= 0.75 * processes,
        `${processes} processes: ${budgets} budgets`,
      )
    }
  })

  it('a burst as Redis goes away comes to no more than one limit over all processes', async () => {
    for (const processes of [1, 4, 12]) {
      const budgets = work(await outage(processes, 300_000, 10_000, 50_000))
      const least = processes === 1 ? 0.5 : 0.25 // half of the limit is left for what others may have been granted
      assert.ok(budgets <= 1 && budgets >= least, `${processes} processes: ${budgets} budgets`)
    }
  })
})

// Twenty clients of one user spend the limit between them, and few of their requests are refused.
import { type TestContext, describe, it } from 'node:test'
import express from 'express'
import { throttle } from '../../lib'
import { pacedFetch } from '../../lib/client'
import { manualClock } from '../../lib/testing'
import { opaqueStore } from '../../lib/throttle/store/store'
import { listen } from '../support/serve'
import { modelStores } from '../throttle/adversaries/model-stores'
import { assertIs, atMost, between } from '../support/until'

/** Each client sends three requests at once of 20 ms: together they could spend three seconds a second. */
const [CLIENTS, EACH, COST_MS, PROCESSES] = [20, 3, 20, 2]
const TERMS = { limitMs: 18_000, windowMs: 60_000, subject: () => 'ada' }

describe('pacedFetch() of twenty clients of one user over two processes', () => {
  for (const rateLimit of [true, false])
    it(`spend the limit, and at most a tenth of their answers is 429: rateLimit: ${rateLimit}`, async (t) => {
      const { share, asked, refused } = await crowd(t, rateLimit)
      t.diagnostic(`${(100 * share).toFixed(1)} % of the limit used, ${refused} of ${asked} refused`)
      assertIs(share, between(0.95, 1.05), `${share} of the limit was used`)
      assertIs(refused, atMost(0.1 * asked), `${refused} of ${asked} were refused`)
    })
})

/** What a whole window came to, in the clock's time. */
async function crowd(t: TestContext, rateLimit: boolean) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  let [sent, arrived, ended, got, refused, workedMs, seed] = [0, 0, 0, 0, 0, 0, 1]
  const apis = modelStores(PROCESSES, clock).map(async (store) => {
    const app = express().set('tollgate dialect', 'standard')
    app.use((_req, res, next) => {
      arrived++
      res.once('finish', () => {
        ended++
        if (res.statusCode === 429) refused++
      })
      next()
    })
    const headers = { rateLimit }
    app.use(throttle({ ...TERMS, headers, clock, store: opaqueStore(store) }))
    app.get('/work', (_req, res) => {
      seed = (seed * 48_271) % 2_147_483_647
      const at = clock.now()
      clock.after(COST_MS * (0.5 + seed / 2_147_483_647), () => {
        workedMs += clock.now() - at
        res.end()
      })
    })
    const { url, close } = await listen(app)
    t.after(close)
    return url
  })
  const urls = await Promise.all(apis)
  const balanced: typeof fetch = async (_url, init) => {
    const response = await fetch(`${urls[sent++ % PROCESSES]}/work`, init)
    const body = await response.arrayBuffer()
    got++
    const { status, headers } = response
    return new Response(body, { status, headers })
  }
  const stopped = new AbortController()
  const { signal } = stopped
  const working = Array.from({ length: CLIENTS }, () => pacedFetch({ fetch: balanced, clock })).flatMap((paced) =>
    Array.from({ length: EACH }, async () => {
      while (!signal.aborted) await (await paced('https://api.test/work', { signal })).arrayBuffer()
    }),
  )
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  /** Lets everything happen that needs no time: what was sent has arrived, and what was answered is read. */
  const settle = async () => {
    for (let quiet = 0; quiet < 3;) {
      await turn()
      quiet = sent === arrived && ended === got ? quiet + 1 : 0
    }
  }
  const pass = async (ms: number) => {
    for (const end = clock.now() + ms; clock.now() < end;) {
      await settle()
      clock.advance(1)
    }
  }
  await pass(TERMS.windowMs + 1_000)
  const before = { workedMs, arrived, refused }
  await pass(TERMS.windowMs)
  const share = (workedMs - before.workedMs) / TERMS.limitMs
  const result = { share, asked: arrived - before.arrived, refused: refused - before.refused }
  stopped.abort()
  await Promise.allSettled(working)
  return result
}

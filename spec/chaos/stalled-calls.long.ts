import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { type Throttle, redisStore, throttle } from '../../lib'
import { askingStore } from '../support/asking-store'
import { ready } from '../support/ready'
import { redisOfTest } from '../support/redis'
import { serve } from '../support/serve'
import { FULL, quantile, tell } from './table'

const ROUNDS = FULL ? 300 : 50
/** What the docs name. */
const ANSWERED_MS = 2_000
const CLOSED_MS = 3_000
/** A call takes several turns of the event loop at its end. */
const TURNS = 20
const TURNS_MS = 100

const CALLS: readonly [string, number, (of: Throttle, fresh: () => Throttle) => Promise<unknown>][] = [
  ['usage()', ANSWERED_MS, (of) => of.usage('ada')],
  ['flush()', ANSWERED_MS, (of) => of.flush()],
  ['reset()', ANSWERED_MS, (of) => of.reset('ada')],
  ['advise()', ANSWERED_MS, (of) => of.advise()],
  ['ready()', ANSWERED_MS, (_of, fresh) => fresh().ready()],
  ['close()', CLOSED_MS, (of) => of.close()],
]

/** Stalls in turn: mostly shorter than the deadline, an outage, longer than any call. */
const STALLS_MS = [100, 1_500, 1_000_000]

describe(
  `calls of a throttle whose Redis stalls at random moments, ${ROUNDS} rounds of each`,
  { concurrency: 6 },
  () => {
    for (const [name, boundMs, call] of CALLS)
      it(`ends ${name} within ${boundMs} ms`, { timeout: 3_600_000 }, async (t) => {
        const redis = await redisOfTest(t)
        const took: number[] = []
        let round = 0
        let app = express()
        const { get } = await serve((req, res) => void app(req, res))
        const stall = async (now = round) => {
          await sleep(Math.random() * 400)
          redis.signal('SIGSTOP')
          void sleep(Math.random() * (STALLS_MS[now % 3] as number), undefined, { ref: false }).then(() => {
            if (now === round) redis.signal('SIGCONT')
          })
        }
        for (; round < ROUNDS; round++) {
          const open: Throttle[] = []
          const fresh = () => {
            const store = redisStore(redis.url)
            const over = round % 2 === 0 ? store : askingStore(store)
            open.push(throttle({ limitMs: 1_000_000, windowMs: 86_400_000, subject: () => 'ada', store: over }))
            return open.at(-1) as Throttle
          }
          const throttled = fresh()
          app = express().use(throttled, (_req, res) => void res.json(1))
          await ready(throttled)
          const stalling = stall()
          const asked = Array.from({ length: 20 }, () => sleep(Math.random() * 400).then(() => get('/')))
          await sleep(Math.random() * 400)
          const begin = performance.now()
          const ended = call(throttled, fresh).then(
            () => 'ended',
            (err: Error) => (/Redis at|store/.test(err.message) ? 'ended' : err.message),
          )
          // Timers and turns of the same event loop: a busy machine delays both sides.
          const over = sleep(boundMs + TURNS_MS).then(async () => {
            for (let turn = 0; turn < TURNS; turn++) await setImmediate()
            return `still under way in round ${round}`
          })
          assert.equal(await Promise.race([ended, over]), 'ended')
          took.push(performance.now() - begin)
          await stalling
          redis.signal('SIGCONT')
          await Promise.all([...asked, ...open.map((each) => each.close())])
        }
        tell(t, { name, longestMs: Math.round(Math.max(...took)), medianMs: Math.round(quantile(took, 0.5)) })
      })
  },
)

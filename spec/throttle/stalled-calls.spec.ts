// Calls of a throttle end in time whatever its store does: it stalls at random moments of each, in the spec's own time.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Throttle, throttle } from '../../lib/index'
import { manualClock } from '../../lib/testing'
import { type StoreServer, opaqueStore } from '../../lib/throttle/store/store'
import { modelStores } from './adversaries/model-stores'
import { Random } from './simulation/random'

const ROUNDS = 50
/** Stalls in turn: mostly shorter than the deadline, an outage, longer than any call. */
const STALLS_MS = [100, 1_500, 1_000_000]
const STEP_MS = 10

/** What docs/RELIABILITY.md names. */
const CALLS: readonly [string, number, (of: Throttle) => Promise<unknown>][] = [
  ['usage()', 2_000, (of) => of.usage('ada')],
  ['flush()', 2_000, (of) => of.flush()],
  ['reset()', 2_000, (of) => of.reset('ada')],
  ['advise()', 2_000, (of) => of.advise()],
  ['ready()', 2_000, (of) => of.ready()],
  ['close()', 3_000, (of) => of.close()],
]

/** A throttle over a store that answers nothing between two times of its clock. */
function stalling(fromMs: number, untilMs: number) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const [store = assert.fail()] = modelStores(1, clock)
  const model = store.serverOf('')
  const held = async <T>(answer: () => Promise<T> | T): Promise<T> => {
    if (clock.now() >= fromMs) await new Promise<void>((go) => void clock.after(untilMs - clock.now(), go))
    return answer()
  }
  const usage = {
    addUsage: () => held(() => undefined),
    readUsage: (_policy: string, hours: readonly number[]) => held(() => hours.map(() => ({}))),
  }
  const server: StoreServer = {
    name: undefined,
    report: (...command) => held(() => model.report(...command)),
    beat: (...command) => held(() => model.beat(...command)),
  }
  const throttled = throttle({ clock, store: opaqueStore({ ...store, ...usage, serverOf: () => server }) })
  const pass = async (ms: number) => {
    for (const end = clock.now() + ms; clock.now() < end;) {
      clock.advance(STEP_MS)
      await setImmediate()
    }
  }
  return { throttled, pass }
}

describe('a call of a throttle whose store stalls at a random moment of it', () => {
  for (const [name, boundMs, call] of CALLS)
    it(`ends: ${name} within ${boundMs} ms, in each of ${ROUNDS} rounds`, async (t) => {
      t.mock.method(process, 'emitWarning', () => undefined) // outages are no news
      for (let round = 0; round < ROUNDS; round++) {
        const r = new Random(round)
        const from = r.int(0, 400)
        const { throttled, pass } = stalling(from, from + r.int(0, STALLS_MS[round % 3] as number))
        for (let asked = 0; asked < 5; asked++) {
          void throttled.usage(`user-${asked}`)
          await pass(r.int(0, 80))
        }
        let isEnded = false
        const ended = () => (isEnded = true)
        call(throttled).then(ended, ended)
        await pass(boundMs + STEP_MS)
        assert.ok(isEnded, `still under way in round ${round}`)
      }
    })
})

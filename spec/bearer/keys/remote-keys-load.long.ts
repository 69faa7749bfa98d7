import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Refusal } from '../../../lib/bearer/refusal/refusal'
import { manualClock } from '../../../lib/testing/index'
import { serveIssuer } from '../../support/issuer'
import { a, api, b, source } from '../remote-issuer'
import { assertIs, atMost } from '../../support/until'

describe('requireBearer() through an hour’s outage of its issuer, at load', () => {
  it('answers no good token with 401, and asks at most 10 times a minute', async () => {
    const { state, issuer, token } = await serveIssuer(a)
    const clock = manualClock()
    const { ask } = await api({ issuer, clock })
    const good = token()
    assert.equal((await ask(good)).status, 200)
    state.down = true
    const statuses = new Map<number, number>()
    for (let minute = 0; minute < 60; minute++) {
      const before = state.fetches.length
      for (let second = 0; second < 60; second += 2) {
        clock.advance(2_000)
        for (const { status } of await Promise.all([ask(good), ask(token(b))])) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }
      assertIs(
        state.fetches.length - before,
        atMost(10),
        `${state.fetches.length - before} fetches in minute ${minute}`,
      )
    }
    assert.deepEqual(Object.fromEntries(statuses), { 200: 1_800, 503: 1_800 })
  })
})

/** Beyond the lookups that may wait: `keys_unavailable`. */
const REFUSED = /^(unknown_key|keys_unavailable)$/

describe('requireBearer() under a flood of forged kids', () => {
  it('asks once in 2 s, and takes a key rotated in at any moment within 3 s', async () => {
    const { state, find, clock, ask } = await source()
    await find('a')
    const begun = clock.now()
    const forged = 100_000
    const steps = 2_000 // of 10 ms: 20 s
    const delays: number[] = []
    const tries: (() => Promise<void>)[] = []
    let waiting: Promise<unknown>[] = []
    for (let step = 1, next = 150; step <= steps; step++) {
      clock.advance(10)
      if ((clock.now() - begun) % 2_000 === 0) await Promise.all(waiting.splice(0))
      if (step === next) {
        const kid = `r${step}`
        const at = clock.now()
        state.keys = [{ ...b.jwk, kid }]
        next += 317 // lands on another phase of the 2 s each time
        // A client that tries again every 10 ms until it is let in.
        const attempt = async (): Promise<void> => {
          if ((await find(kid)) === kid) return void delays.push(clock.now() - at)
          tries.push(attempt)
        }
        tries.push(attempt)
      }
      waiting = waiting.concat(tries.splice(0).map((attempt) => attempt()))
      for (let i = 0; i < forged / steps; i++) {
        const found = ask(`forged-${step}-${i}`)
        if (!(found instanceof Promise)) assert.match((found as Refusal).refused, REFUSED)
        else waiting.push(found.then((late) => assert.match((late as Refusal).refused, REFUSED)))
      }
      await turn()
    }
    assert.equal(state.fetches.length, 1 + 10)
    assert.equal(delays.length, 6)
    assertIs(Math.max(...delays), atMost(3_000), String(delays))
  })
})

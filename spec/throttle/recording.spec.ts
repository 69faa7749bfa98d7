import assert from 'node:assert/strict'
import { it } from 'node:test'
import express from 'express'
import { throttle, throttleTest } from '../../lib'
import { listen } from '../support/serve'
import { manualClock } from '../../lib/testing'
import { readData } from '../support/data'

interface Recorded {
  readonly path: string
  readonly status: number
  readonly response: string
  readonly rawHeaders: Readonly<Record<string, string>>
}

/** What the recording does not say, chosen so that every figure of it comes out: its dates are whole seconds. */
const SPENT_BEFORE_MS = 4_752
const WINDOW_ENDS = Date.parse('2017-12-08T19:53:05.500Z')
const FRACTIONS_MS = [0, 900, 100, 600, 600, 100, 600, 600, 600, 0]
const COMPARED = ['retry-after', 'x-throttle-window-size', 'x-throttle-millis-used', 'x-throttle-millis-left']

it('throttle() and throttleTest() answer the recorded traffic of the real service, request by request', async (t) => {
  const recorded = readData('recordings/throttled.json') as Recorded[]
  const clock = manualClock(WINDOW_ENDS - 60_000)
  const throttled = throttle({ limitMs: 60_000, windowMs: 60_000, subject: () => 'recorded', clock })
  const app = express()
  let processingMs = 0
  app.use(throttled)
  app.use((_req, _res, next) => {
    clock.advance(processingMs)
    next()
  })
  app.get('/platform/throttled', throttleTest())
  const { get, close } = await listen(app)
  t.after(close)

  // The window's end is the subject's own; the recording's dates are moved to where it is.
  const [usage] = await throttled.usage('recorded')
  clock.advance(usage?.endsInMs ?? NaN)
  const moved = clock.date() + 60_000 - WINDOW_ENDS
  await get(`/platform/throttled?processingTime=${SPENT_BEFORE_MS}`)

  assert.equal(recorded.length, FRACTIONS_MS.length)
  for (const [i, { path, status, response, rawHeaders }] of recorded.entries()) {
    const at = Date.parse(rawHeaders.date ?? '') + (FRACTIONS_MS[i] as number) + moved
    clock.advance(at - clock.date())
    processingMs = status === 200 ? Number(rawHeaders['x-processing-time']) : 0
    const answer = await get(path, { accept: 'application/x-fs-v1+json' })
    const said = `request ${i}`
    assert.equal(answer.status, status, said)
    assert.equal(answer.body, response, said)
    for (const field of COMPARED) assert.equal(answer.headers.get(field) ?? undefined, rawHeaders[field], said + field)
    if (status !== 200) assert.equal(answer.headers.get('content-type'), rawHeaders['content-type'], said)
    else assert.equal(answer.headers.get('x-processing-time'), rawHeaders['x-processing-time'], said)
  }
})

// throttleTest(), and the recorded traffic of the real service.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { throttle, throttleTest } from '../../lib'
import { serve } from '../support/serve'
import { manualClock } from '../../lib/testing'
import { readData } from '../support/data'

async function resource(limitMs = 18_000) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const app = express()
  app.use(throttle({ limitMs, windowMs: 60_000, subject: () => 'ada', clock }))
  app.get('/platform/throttled', throttleTest())
  const { get } = await serve(app)
  return { clock, throttled: (query = '', headers = {}) => get(`/platform/throttled${query}`, headers) }
}

describe('throttleTest()', () => {
  it('adds processingTime to the sum and answers 200 with an empty body', async () => {
    const { throttled } = await resource()
    const answer = await throttled('?processingTime=4752')
    assert.deepEqual([answer.status, answer.body, answer.number('X-THROTTLE-MILLIS-USED')], [200, '', 4_752])
  })

  it('adds nothing without the parameter', async () => {
    const { throttled } = await resource()
    for (const query of ['', '?', '?other=5', '?processingtime=5', '?processingTime[]=5']) {
      const answer = await throttled(query)
      assert.deepEqual([answer.status, answer.number('X-THROTTLE-MILLIS-USED')], [200, 0], query)
    }
  })

  it('takes up to 8 digits', async () => {
    const { throttled } = await resource(1_920_000)
    assert.equal((await throttled('?processingTime=99999999')).number('X-THROTTLE-MILLIS-USED'), 99_999_999)
  })

  const bad = [
    '-1',
    '1.5',
    '1e999',
    '1e3',
    'abc',
    '',
    ' 5',
    '5%20',
    '0x10',
    '123456789',
    'NaN',
    '%00',
    '٣',
    '5&processingTime=6',
  ]
  for (const value of bad) {
    it(`answers processingTime=${value} with 400 and the reason, and charges nothing`, async () => {
      const { throttled } = await resource()
      const answer = await throttled(`?processingTime=${value}`, { accept: 'application/problem+json' })
      assert.equal(answer.status, 400)
      assert.equal(answer.headers.get('content-type'), 'application/problem+json')
      const problem = JSON.parse(answer.body) as Record<string, unknown>
      assert.equal(problem.status, 400)
      assert.match(String(problem.detail), /^processingTime (must be a whole number|is given more than once)/)
      assert.equal((await throttled()).number('X-THROTTLE-MILLIS-USED'), 0)
    })
  }

  it('throws where no throttle stands before it, and says so', async () => {
    const app = express()
    const errors: unknown[] = []
    app.get('/open', throttleTest())
    app.use(((err, _req, res, _next) => {
      errors.push(err)
      res.sendStatus(500)
    }) satisfies express.ErrorRequestHandler)
    const { get } = await serve(app)
    assert.equal((await get('/open?processingTime=5')).status, 500)
    assert.match(String(errors[0]), /throttleTest\(\) needs a throttled resource: mount throttle\(\) before it/)
  })
})

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

it('throttle() and throttleTest() answer the recorded traffic of the real service, request by request', async () => {
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
  const { get } = await serve(app)

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

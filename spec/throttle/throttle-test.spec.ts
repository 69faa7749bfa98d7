import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import express from 'express'
import { throttle, throttleTest } from '../../lib'
import { listen } from '../support/serve'
import { manualClock } from '../../lib/testing'

async function resource(t: TestContext, limitMs = 18_000) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const app = express()
  app.use(throttle({ limitMs, windowMs: 60_000, subject: () => 'ada', clock }))
  app.get('/platform/throttled', throttleTest())
  const { get, close } = await listen(app)
  t.after(close)
  return { clock, throttled: (query = '', headers = {}) => get(`/platform/throttled${query}`, headers) }
}

describe('throttleTest()', () => {
  it('adds processingTime to the sum and answers 200 with an empty body', async (t) => {
    const { throttled } = await resource(t)
    const answer = await throttled('?processingTime=4752')
    assert.deepEqual([answer.status, answer.body, answer.number('X-THROTTLE-MILLIS-USED')], [200, '', 4_752])
  })

  it('is refused at the next request where the sum exceeds the limit, so N seconds over are N*1000+1', async (t) => {
    const { throttled, clock } = await resource(t)
    await throttled('?processingTime=18000')
    assert.equal((await throttled()).status, 200, 'exactly at the limit is not exceeded')
    await throttled('?processingTime=1')
    const refused = await throttled('?processingTime=1')
    assert.equal(refused.status, 429)
    clock.advance(refused.number('Retry-After') * 1_000)
    assert.equal((await throttled()).status, 200)
  })

  it('adds nothing without the parameter', async (t) => {
    const { throttled } = await resource(t)
    for (const query of ['', '?', '?other=5', '?processingtime=5', '?processingTime[]=5']) {
      const answer = await throttled(query)
      assert.deepEqual([answer.status, answer.number('X-THROTTLE-MILLIS-USED')], [200, 0], query)
    }
  })

  it('takes up to 8 digits', async (t) => {
    const { throttled } = await resource(t, 1_920_000)
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
    it(`answers processingTime=${value} with 400 and the reason, and charges nothing`, async (t) => {
      const { throttled } = await resource(t)
      const answer = await throttled(`?processingTime=${value}`, { accept: 'application/problem+json' })
      assert.equal(answer.status, 400)
      assert.equal(answer.headers.get('content-type'), 'application/problem+json')
      const problem = JSON.parse(answer.body) as Record<string, unknown>
      assert.equal(problem.status, 400)
      assert.match(String(problem.detail), /^processingTime (must be a whole number|is given more than once)/)
      assert.equal((await throttled()).number('X-THROTTLE-MILLIS-USED'), 0)
    })
  }

  it('throws at startup for a wrong option, naming it', () => {
    assert.throws(() => throttleTest({ onDenied: 5 } as never), /onDenied must be a function; received 5/)
    assert.throws(() => throttleTest({ onDeny: 5 } as never), /throttleTest has no option "onDeny"/)
  })

  it('throws where no throttle stands before it, and says so', async (t) => {
    const app = express()
    const errors: unknown[] = []
    app.get('/open', throttleTest())
    app.use(((err, _req, res, _next) => {
      errors.push(err)
      res.sendStatus(500)
    }) satisfies express.ErrorRequestHandler)
    const { get, close } = await listen(app)
    t.after(close)
    assert.equal((await get('/open?processingTime=5')).status, 500)
    assert.match(String(errors[0]), /throttleTest\(\) needs a throttled resource: mount throttle\(\) before it/)
  })
})

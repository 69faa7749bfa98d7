import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isHttpError } from 'http-errors'
import express from 'express'
import { type DenialError, InvalidRequestError, ThrottledError, UnauthorizedError } from '../lib'
import { requireBearer, throttle, throttleTest } from '../lib'
import { devIssuer } from '../lib/testing'
import { listen } from './support/serve'

/** What TypeScript knows of an error: a line that compiles, or is expected not to. */
function known(err: DenialError): string {
  // @ts-expect-error a misspelt property is found
  void err.figuress
  // @ts-expect-error no error has this status
  void (err.status === 418)
  if (err.status === 429) {
    const reason: 'spent' | 'reserved' | 'concurrency' | 'queue' | 'outage' = err.reason
    const code: 'throttled' = err.code
    return `${code} ${reason} in ${err.figures.window}`
  }
  // @ts-expect-error only a 429 has figures
  void err.figures
  if (err.status === 403) {
    const reason: 'scope' | 'unauthenticated_session' = err.reason
    return `${err.code} ${reason}`
  }
  // @ts-expect-error a reason of a 403
  void (err.reason === 'scope')
  if (err.status === 400) return `${err.code} ${err.reason ?? 'without a reason'}`
  return `${err.code} ${err.reason}`
}

describe('errors', () => {
  it('have literal types of status, code and reason, and are those of http-errors', async (t) => {
    const dev = devIssuer()
    const errors: DenialError[] = []
    const onDenied = (err: DenialError, _req: unknown, res: express.Response) => {
      errors.push(err)
      res.status(err.status).set(err.headers).end()
    }
    const app = express()
    app.use(requireBearer({ ...dev.options, onDenied }), throttle({ limitMs: 1_000, onDenied }))
    app.get('/test', throttleTest({ onDenied }))
    const { get, close } = await listen(app)
    t.after(close)
    const headers = { authorization: `Bearer ${dev.token('ada')}` }
    await get('/test')
    await get('/test?processingTime=soon', headers)
    await get('/test?processingTime=1001', headers)
    await get('/test', headers)
    assert.deepEqual(errors.map(known), [
      'unauthorized no_token',
      'invalid_request without a reason',
      'throttled spent in default',
    ])
    assert.deepEqual(
      errors.map((err) => [err instanceof Error, isHttpError(err), err.statusCode === err.status, err.expose]),
      errors.map(() => [true, true, true, true]),
    )
    assert.ok(errors[0] instanceof UnauthorizedError && errors[1] instanceof InvalidRequestError)
    assert.ok(errors[2] instanceof ThrottledError)
  })
})

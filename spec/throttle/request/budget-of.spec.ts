import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { budgetOf, throttle } from '../../../lib'
import { serve } from '../../support/serve'
import { addressed } from '../../support/addressed'

const shown: ErrorRequestHandler = (err: Error, _req, res, _next) =>
  void res.status(500).send(`${err.name}: ${err.message}`)

/** What a handler answers that takes the budget of a request, after this. */
async function asking(before: RequestHandler): Promise<string> {
  const app = express().use(before, (req, res) => void res.send(`${budgetOf(req).leftMs > 0}`))
  const { url } = await serve(app.use(shown))
  return (await fetch(url)).text()
}

describe('budgetOf()', () => {
  const message = addressed(
    'TOLLGATE_USAGE',
    'TypeError: budgetOf(req) found no budget in the request: mount throttle() before this handler. Where it exempts the request, ' +
      'read req.throttle, which may be undefined',
  )

  it('is the budget of the request', async () => {
    assert.equal(await asking(throttle({ subject: () => 'ada' })), 'true')
  })

  it('throws where no throttle() ran, and where it exempts the request, and says what to do', async () => {
    assert.equal(await asking((_req, _res, next) => next()), message)
    assert.equal(await asking(throttle({ subject: () => null })), message)
    assert.equal(await asking(throttle({ routes: { '/': false } })), message)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { requireBearer, sessionOf } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'
import { addressed } from '../support/addressed'

const dev = devIssuer()
const shown: ErrorRequestHandler = (err: Error, _req, res, _next) =>
  void res.status(500).send(`${err.name}: ${err.message}`)

/** What a handler answers that takes the session of a request, after these. */
async function asking(...before: RequestHandler[]) {
  const app = express().use(...before, (req, res) => void res.send(sessionOf(req).sub))
  const { url } = await serve(app.use(shown))
  return async (headers: Record<string, string> = {}) => (await fetch(url, { headers })).text()
}

describe('sessionOf()', () => {
  const authorization = `Bearer ${dev.token('ada')}`
  const through: RequestHandler = (_req, _res, next) => next()

  it('is the session let in, also where another package has written to req.auth since', async () => {
    assert.equal(await (await asking(requireBearer(dev.options)))({ authorization }), 'ada')
    const others: RequestHandler = (req, _res, next) => {
      Object.assign(req, { auth: { sub: 'eve' } })
      next()
    }
    assert.equal(await (await asking(requireBearer(dev.options), others))({ authorization }), 'ada')
  })

  it('throws where no requireBearer() ran, and says what to mount', async () => {
    const message =
      'TypeError: sessionOf(req) found no session in the request: mount requireBearer() before this handler'
    assert.equal(await (await asking(through))(), addressed('TOLLGATE_USAGE', message))
  })

  it('throws where optional: true let the request in without a token, and says where else to look', async () => {
    const ask = await asking(requireBearer({ ...dev.options, optional: true }))
    assert.equal(await ask({ authorization }), 'ada')
    const message =
      'TypeError: sessionOf(req) found no session: requireBearer({ optional: true }) let the request in without a token; ' +
      'read req.auth, which may be undefined'
    assert.equal(await ask(), addressed('TOLLGATE_USAGE', message))
  })
})

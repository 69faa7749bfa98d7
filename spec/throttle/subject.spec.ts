// Who pays for a request with a token, without one, or with a bad one.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type RequestHandler } from 'express'
import { allowUnauthenticated, budgetOf, requireBearer, requireScope, throttle, throttleTest } from '../../lib'
import { devIssuer, manualClock } from '../../lib/testing'
import { serve } from '../support/serve'

const clock = manualClock(Date.UTC(2026, 0, 1))
const dev = devIssuer({ date: () => clock.date() })
const other = devIssuer({ issuer: 'https://other.test', date: () => clock.date() })
const LIMIT = { limitMs: 1_000, windowMs: 86_400_000, clock }
const bearer = () => requireBearer({ issuers: [dev.options, other.options], optional: true, clock })
const as = (who: string, options?: Parameters<typeof dev.token>[1], by = dev) => ({
  authorization: `Bearer ${by.token(who, options)}`,
})

/** An app that says who pays. */
async function asking(...handlers: RequestHandler[]) {
  const app = express().use(...handlers)
  app.set('env', 'test')
  app.get('/throttled', throttleTest())
  app.get('/who', (req, res) => void res.send(budgetOf(req).subject))
  app.get('/admin', requireScope('admin'), (_req, res) => void res.end())
  return (await serve(app)).get
}

describe('who pays', () => {
  const forging: RequestHandler = (req, _res, next) => {
    // As a middleware of somebody else might.
    Object.assign(req, { auth: { ...req.auth, kind: 'user', userId: 'forged', issuer: 'forged' } })
    next()
  }

  it('is the user over all sessions and apps, the app where nobody is signed in, else the address', async () => {
    const get = await asking(allowUnauthenticated({ paths: ['/who'] }), bearer(), forging, throttle(LIMIT))
    for (const [headers, subject] of [
      [as('ada'), 'user:23:https://dev-issuer.test:ada'],
      [as('ada', { clientId: 'another-app' }), 'user:23:https://dev-issuer.test:ada'],
      [as('ada', {}, other), 'user:18:https://other.test:ada'],
      [as('ada', { kind: 'client' }), 'client:23:https://dev-issuer.test:ada'],
      [as('ada', { kind: 'unauthenticated' }), 'client:23:https://dev-issuer.test:ada'],
      [{}, 'address:127.0.0.1'],
    ] as const)
      assert.equal((await get('/who', headers)).body, subject)
  })

  it('is the address where no bearer is asked for, whoever has written to req.auth', async () => {
    for (const handlers of [[forging, throttle(LIMIT)], [throttle(LIMIT)]]) {
      const get = await asking(...handlers)
      assert.equal((await get('/who', as('ada'))).body, 'address:127.0.0.1')
    }
  })

  it('is told what a 401, a 403 and a 404 cost, and nobody is charged for a 401', async () => {
    const get = await asking(bearer(), throttle(LIMIT))
    for (const [path, headers, status] of [
      ['/who', { authorization: 'Bearer nonsense' }, 401],
      ['/who', as('ada', { expiresInSec: -600 }), 401],
      ['/admin', as('ada'), 403],
      ['/nowhere', as('ada'), 404],
    ] as const) {
      const answer = await get(path, headers)
      assert.equal(answer.status, status)
      assert.match(answer.headers.get('x-processing-time') ?? '', /^\d+$/, `${path} ${status}`)
      assert.equal(answer.headers.has('x-throttle-millis-left'), status !== 401)
    }
  })

  it('is the address for bad tokens, where a throttle by address stands before the bearer', async () => {
    const byAddress = throttle({ ...LIMIT, limitMs: 31, name: 'address', subject: (req) => req.ip ?? '' })
    const working: RequestHandler = (_req, _res, next) => next(void clock.advance(10))
    const get = await asking(byAddress, working, bearer())
    const statuses = []
    for (let i = 0; i < 5; i++) statuses.push((await get('/', { authorization: 'Bearer nonsense' })).status)
    assert.deepEqual(statuses, [401, 401, 401, 401, 429])
  })
})

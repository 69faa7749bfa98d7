import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type NextFunction, type Request, type Response } from 'express'
import { budgetOf, throttle } from '../../lib'
import { serve } from '../support/serve'

const HOUR = { limitMs: 1_000, windowMs: 3_600_000, subject: () => 'ada' }

describe('throttle({ onDenied }) that calls next() without an error', () => {
  const mark = (_err: unknown, _req: Request, res: Response, next: NextFunction) => {
    res.set('X-Over', 'yes')
    next()
  }

  for (const [what, windows] of [
    ['one window', [HOUR]],
    ['the inner of two windows', [{ ...HOUR, name: 'outer', limitMs: 60_000 }, HOUR]],
    ['the outer of two windows', [HOUR, { ...HOUR, name: 'inner', limitMs: 60_000 }]],
  ] as const) {
    it(`lets the request pass, marked, without Retry-After, and charges it: ${what}`, async () => {
      const throttles = windows.map((window) => throttle({ ...window, onDenied: mark }))
      const app = express()
      for (const one of throttles) app.use(one)
      app.get('/', (req, res) => {
        budgetOf(req).charge(1_500)
        res.json(budgetOf(req).spentMs)
      })
      const { get } = await serve(app)
      assert.equal((await get('/')).headers.get('x-over'), null)
      for (let n = 2; n <= 4; n++) {
        const { status, headers } = await get('/')
        assert.deepEqual([status, headers.get('x-over'), headers.get('retry-after')], [200, 'yes', null])
        for (const one of throttles) {
          const spentMs = (await one.usage('ada'))[0]?.spentMs ?? 0
          // A slow machine takes time itself, and an hour gives some back.
          assert.equal(Math.round(spentMs / 1_500), n, `${spentMs} ms after ${n} requests`)
        }
      }
    })
  }

  it('passes an error on as it is', async () => {
    const app = express().use(throttle({ ...HOUR, onDenied: (err, _req, _res, next) => next(err) }))
    app.get('/', (req, res) => {
      budgetOf(req).charge(1_500)
      res.end()
    })
    app.use((err: { status: number }, _req: Request, res: Response, _next: NextFunction) => {
      res.status(err.status).end()
    })
    const { get } = await serve(app)
    await get('/')
    const { status, headers } = await get('/')
    assert.deepEqual([status, headers.has('retry-after')], [429, true])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import type { Request, RequestHandler, Response } from 'express'
import express from 'express'
import { processingTime, requireBearer, throttle } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { listen } from '../support/listen'

setFlagsFromString('--allow-natives-syntax')
// eslint-disable-next-line @typescript-eslint/no-implied-eval -- no TypeScript can say it
const sameShape = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: object, b: object) => boolean

describe('requests and responses behind a middleware', () => {
  const dev = devIssuer()
  const headers = { Authorization: `Bearer ${dev.token('ada')}` }

  const CHAINS: Record<string, RequestHandler[]> = {
    'processingTime()': [processingTime()],
    'throttle()': [throttle({ subject: () => 'ada' })],
    'requireBearer() and throttle()': [requireBearer(dev.options), throttle()],
  }
  for (const [name, handlers] of Object.entries(CHAINS)) {
    it(`share their shapes with those before, so that compiled code fits them all: ${name}`, async (t) => {
      const app = express()
      app.use(...handlers)
      let waiting: { req: Request; res: Response } | undefined
      const alike: [boolean, boolean][] = []
      app.use((req, res) => {
        if (waiting === undefined) return void (waiting = { req, res })
        alike.push([sameShape(req, waiting.req), sameShape(res, waiting.res)])
        waiting.res.end()
        waiting = undefined
        res.end()
      })
      const { get, close } = await listen(app)
      t.after(close)
      // The first ones find what is made once: shapes that lead to others, and code.
      for (let i = 0; i < 20; i++) await Promise.all([get('/', headers), get('/', headers)])
      assert.deepEqual(alike.slice(10), Array(10).fill([true, true]))
    })
  }

  it('are what they were', async (t) => {
    const app = express()
    app.use((req, res, next) => {
      const before = { ...describeOwn(req), ...describeOwn(res) }
      processingTime()(req, res, (err) => {
        const after = { ...describeOwn(req), ...describeOwn(res) }
        for (const [property, descriptor] of Object.entries(before)) {
          if (property === '_eventsCount') continue // the meter waits for 'close'
          assert.deepEqual(after[property], descriptor, property)
        }
        next(err)
      })
    })
    app.use(express.json())
    app.post('/', (req, res) => {
      assert.equal(req.complete, true)
      assert.equal(res.writableFinished, false)
      res.json(req.body)
    })
    const { url, close } = await listen(app)
    t.after(close)
    const posted = { method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } }
    const res = await fetch(url, posted)
    assert.equal(await res.text(), '{"a":1}')
  })
})

/** Own properties, with the values of those that have plain ones. */
function describeOwn(object: object): Record<string, unknown> {
  const all = Object.entries(Object.getOwnPropertyDescriptors(object))
  return Object.fromEntries(
    all.map(([name, { value, ...rest }]) => [
      name,
      typeof value === 'object' ? rest : { value: value as unknown, ...rest },
    ]),
  )
}

// Copies of the package in one process share sessions and meters, and leave Node as it is.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import express, { type RequestHandler } from 'express'
import * as first from '../../lib'
import { PROTOCOL, noteCopy } from '../../lib/http/package-copies'
import { devIssuer } from '../../lib/testing'
import { packageCopy, reloaded } from '../support/package-copy'
import { serve } from '../support/serve'
import { assertIs, atLeast } from '../support/until'

function copy(): typeof first {
  const loaded = packageCopy()
  assert.notEqual(loaded.throttle, first.throttle)
  return loaded
}

async function asking(...handlers: RequestHandler[]) {
  const { get } = await serve(express().use(...handlers))
  return get
}

const methods = () =>
  ['writeHead', 'write', 'end', 'destroy'].map((name) => Reflect.get(ServerResponse.prototype, name) as unknown)

describe('copies of the package in one process', () => {
  it('share the session that requireBearer() of one has found', async () => {
    const dev = devIssuer()
    const get = await asking(first.requireBearer(dev.options), copy().throttle(), (req, res) => {
      res.send(req.throttle?.subject)
    })
    const { body } = await get('/', { authorization: `Bearer ${dev.token('ada')}` })
    assert.match(body, /^user:.*ada$/)
  })

  it('share the meter, so that throttles of both charge a request', async () => {
    const terms = { subject: () => 'ada', windowMs: 86_400_000 }
    const throttled = [
      first.throttle({ ...terms, name: 'a' }),
      copy().throttle({ ...terms, name: 'b', limitMs: 1_000 }),
    ]
    const other = copy()
    const get = await asking(first.processingTime(), ...throttled, other.processingTime(), (req, res) => {
      other.budgetOf(req).charge(100)
      res.end()
    })
    const { headers } = await get('/')
    assert.equal(headers.get('x-throttle-window-size'), '1000') // the one with the least left
    for (const each of throttled) {
      const [usage] = await each.usage('ada')
      assert.ok(usage && usage.spentMs >= 100, JSON.stringify(usage))
    }
  })

  it('leave the methods of Node’s responses as they are', async () => {
    const before = methods()
    for (let i = 0; i < 10; i++) {
      const { processingTime } = reloaded('http/measure/processing-time') as typeof first
      const answer = await (await asking(processingTime()))('/')
      assertIs(answer.number('x-processing-time'), atLeast(0))
    }
    assert.deepEqual(methods(), before)
  })
})

describe('noteCopy()', () => {
  it('warns of a second protocol', async () => {
    const elder = {}
    const seen = Symbol.for('express-tollgate.protocols')
    Object.defineProperty(elder, seen, { value: new Set([PROTOCOL + 1]) })
    const warning = once(process, 'warning') as Promise<[Error & { code: string }]>
    noteCopy(elder)
    const [{ code, message }] = await warning
    assert.equal(code, 'TOLLGATE_COPIES')
    assert.match(message, /two versions of express-tollgate/)
  })

  it('put one property on a response and one on its request, and hear a method once', async () => {
    const added: PropertyKey[][] = []
    const note: RequestHandler = (req, res) => {
      added.push([res, req].flatMap((each) => Reflect.ownKeys(each)))
      res.end()
    }
    const terms = { subject: () => 'ada', windowMs: 86_400_000 }
    const other = copy()
    const throttles = [first.throttle(terms), other.throttle({ ...terms, name: 'b' }), other.processingTime()]
    await (
      await asking(note)
    )('/')
    await (
      await asking(...throttles, note)
    )('/')
    const [bare = [], ours = []] = added
    const names = ours.filter((key) => !bare.includes(key)).map(String)
    assert.deepEqual(names, [`Symbol(express-tollgate.hooks.${PROTOCOL})`, 'throttle'])
  })
})

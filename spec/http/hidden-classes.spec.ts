import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, describe, it } from 'node:test'
import type express from 'express'
import type { RequestHandler } from 'express'
import { shareHiddenClasses } from '../../lib/http/hidden-classes'
import { EXPRESS_VERSIONS } from '../support/express-versions'
import { listen } from '../support/serve'

type Express = typeof express

/** Everything that an app can see of an object but the order of its properties. */
function look(object: object) {
  const own = Reflect.ownKeys(object).map((key) => [key, Object.getOwnPropertyDescriptor(object, key)] as const)
  return {
    own: new Map(own),
    prototype: Object.getPrototypeOf(object) as object,
    extensible: Object.isExtensible(object),
  }
}

/** Both, before and after the call. */
function sharing(req: IncomingMessage, res: ServerResponse) {
  const before = [look(req), look(res)]
  shareHiddenClasses?.(req, res)
  return { before, after: [look(req), look(res)] }
}

async function serving(t: TestContext, express: Express, middleware: RequestHandler) {
  const app = express()
  app.use(middleware)
  app.use(express.json())
  app.post('/echo', (req, res) => void res.status(201).json({ body: req.body as unknown, complete: req.complete }))
  app.get('/stream', (_req, res) => {
    res.write('a')
    res.end('b')
  })
  const { url, close } = await listen(app)
  t.after(close)
  return url
}

for (const [version, express] of EXPRESS_VERSIONS) {
  describe(`shareHiddenClasses() behind ${version}`, () => {
    it('leaves every property of request and response as it was, with their prototypes', async (t) => {
      const seen: ReturnType<typeof sharing>[] = []
      const url = await serving(t, express, (req, res, next) => {
        seen.push(sharing(req, res))
        next()
      })
      assert.equal((await fetch(`${url}/stream`)).status, 200)
      const [{ before, after }] = seen as [ReturnType<typeof sharing>]
      for (const [i, name] of [
        [0, 'complete'],
        [1, 'finished'],
      ] as const) {
        assert.ok(before[i]?.own.has(name), `${name} is a property of its own`)
        assert.deepEqual(after[i]?.own, before[i]?.own)
        assert.equal(after[i]?.prototype, before[i]?.prototype)
        assert.equal(after[i]?.extensible, true)
      }
    })

    it('leaves an app answering as it did', async (t) => {
      const answers = []
      for (const middleware of [
        ((_req, _res, next) => next()) satisfies RequestHandler,
        ((req, res, next) => (shareHiddenClasses?.(req, res), next())) satisfies RequestHandler,
      ]) {
        const url = await serving(t, express, middleware)
        const posted = { method: 'POST', body: '{"a":1}', headers: { 'Content-Type': 'application/json' } }
        const echoed = await fetch(`${url}/echo`, posted)
        const streamed = await fetch(`${url}/stream`)
        const missing = await fetch(`${url}/missing`)
        answers.push([echoed.status, await echoed.text(), await streamed.text(), missing.status, await missing.text()])
      }
      const [without, having] = answers
      assert.deepEqual(without?.slice(0, 4), [201, '{"body":{"a":1},"complete":true}', 'ab', 404])
      assert.deepEqual(having, without)
    })
  })
}

describe('shareHiddenClasses() and objects that are not Node’s', () => {
  it('adds nothing to them', () => {
    const [req, res] = [{}, {}]
    shareHiddenClasses?.(req as IncomingMessage, res as ServerResponse)
    assert.deepEqual([Reflect.ownKeys(req), Reflect.ownKeys(res)], [[], []])
  })
})

// Types of the middleware, req.throttle as JSON, and hosts that are not Express.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type IncomingMessage, type RequestListener, ServerResponse, createServer, get } from 'node:http'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import connect from 'connect'
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express'
import { Server } from 'socket.io'
import { io } from 'socket.io-client'
import {
  type DenialError,
  type Middleware,
  type OnDenied,
  addressSubject,
  allowUnauthenticated,
  budgetOf,
  processingTime,
  requireStepUp,
  requireBearer,
  requireScope,
  sessionOf,
  throttle,
  throttleTest,
} from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'

interface Params {
  id: string
}
interface Query {
  q?: string
}
interface Locals extends Record<string, unknown> {
  plan: string
}

const dev = devIssuer()
const as = (who: string, scope = '') => ({ authorization: `Bearer ${dev.token(who, { scope })}` })

describe('types', () => {
  it('budgetOf(), sessionOf() and addressSubject() take every request', async () => {
    const seen: RequestHandler<Params, unknown, { text: string }, Query, Locals> = (req, res) => {
      res.json([budgetOf(req).window, sessionOf(req).kind, addressSubject(req)])
    }
    const narrow = (req: Request<Params>) => [budgetOf(req), sessionOf(req), addressSubject(req)]
    const plain = (req: IncomingMessage) => [budgetOf(req), sessionOf(req), addressSubject(req)]
    assert.deepEqual([narrow.length, plain.length], [1, 1])
    const app = express().use(requireBearer(dev.options), throttle())
    app.get<Params, unknown, { text: string }, Query, Locals>('/a/:id', seen)
    const { url } = await serve(app)
    const answer = await fetch(`${url}/a/7`, { headers: as('ada') })
    assert.deepEqual(await answer.json(), ['default', 'user', 'address:127.0.0.1'])
  })

  it('factories in front of a handler keep its route parameters', async () => {
    const app = express()
    const all = [processingTime(), requireBearer(dev.options), throttle()] as const
    app.get('/a/:id', ...all, requireScope('read'), (req, res) => {
      const id: string = req.params.id
      res.send(id)
    })
    app.get('/b/:id', allowUnauthenticated(), requireBearer(dev.options), (req, res) => {
      const id: string = req.params.id
      res.send(id)
    })
    app.get<Params>('/c/:id', ...all, requireStepUp({ maxAgeSec: 60 }), throttleTest(), (req, res) => {
      res.send(req.params.id)
    })
    const typed: RequestHandler = throttle()
    const wrapped = (req: Request<Params>, res: Response, next: NextFunction) => all[2](req, res, next)
    const mine: Middleware = requireBearer(dev.options)
    app.use(typed, [mine, throttle()]).get<Params>('/d/:id', wrapped)
    const { url } = await serve(app)
    assert.equal(await (await fetch(`${url}/a/7`, { headers: as('ada', 'read') })).text(), '7')
    assert.equal(await (await fetch(`${url}/b/8`, { headers: as('ada') })).text(), '8')
  })
})

describe('req.throttle', () => {
  it('shows its figures as JSON and to console.log()', async () => {
    const app = express().use(throttle({ subject: () => 'ada', limitMs: 1_000 }))
    app.get('/json', (req, res) => void res.json({ budget: req.throttle }))
    app.get('/inspect', (req, res) => void res.send(inspect(budgetOf(req))))
    const { url } = await serve(app)
    const { budget } = (await (await fetch(`${url}/json`)).json()) as { budget: Record<string, unknown> }
    assert.deepEqual(Object.keys(budget), ['subject', 'window', 'limitMs', 'spentMs', 'leftMs', 'endsInMs'])
    assert.deepEqual([budget.subject, budget.window], ['ada', 'default'])
    for (const name of ['spentMs', 'leftMs', 'endsInMs']) assert.equal(typeof budget[name], 'number', name)
    const shown = await (await fetch(`${url}/inspect`)).text()
    assert.match(
      shown,
      /^\{\s+subject: 'ada',\s+window: 'default',\s+limitMs: 1000,\s+spentMs: [\d.]+,\s+leftMs: [\d.]+,\s+endsInMs: [\d.]+\s+\}$/,
    )
  })
})

describe('outside Express', () => {
  const statuses = async (url: string, init?: RequestInit) => {
    const found: unknown[] = []
    for (let i = 0; i < 2; i++) {
      const answer = await fetch(url, { headers: { accept: 'application/json' }, ...init })
      found.push(answer.status, answer.headers.get('retry-after') !== null, await answer.text())
    }
    return found
  }
  const spending = (req: IncomingMessage, res: ServerResponse) => {
    const { throttle: budget } = req as Request
    budget?.charge(1_000)
    res.end(budget?.subject)
  }
  const refused = '{"errors":[{"code":429}]}'
  const terms = {
    ...{ limitMs: 100, windowMs: 86_400_000 },
    routes: { '/free': false, 'GET /platform/:id': { limitMs: 50, name: 'platform' } },
  } as const

  it('throttle() works in node:http: the address is that of the socket, the path that of the URL', async () => {
    const throttled = throttle(terms)
    const server = await listening((req, res) =>
      throttled(req, res, (err) => (err ? fail(res, err) : spending(req, res))),
    )
    assert.deepEqual(await statuses(`${server}/platform/1`), [200, false, 'address:127.0.0.1', 429, true, refused])
    const free = await fetch(`${server}/free?x=1`)
    assert.equal(await free.text(), '', 'no budget on a free path')
  })

  it('throttle() works in Connect, whose mounts cut the URL', async () => {
    const app = connect()
    app.use('/platform', throttle(terms))
    app.use('/platform', spending)
    assert.deepEqual(await statuses(`${await listening(app)}/platform/1`), [
      200,
      false,
      'address:127.0.0.1',
      429,
      true,
      refused,
    ])
  })

  for (const [what, make] of [
    ['throttle()', () => throttle()],
    ['throttle({ subject })', () => throttle({ subject: () => 'ada' })],
    ['requireBearer({ optional: true })', () => requireBearer({ ...dev.options, optional: true })],
  ] as const) {
    it(`${what} works in io.engine.use()`, async () => {
      const http = createServer()
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
      const sockets = new Server(http)
      sockets.engine.use(make())
      const client = io(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, { reconnection: false })
      after(() => sockets.close())
      const connected = await new Promise((resolve) => {
        client.on('connect', () => resolve('connected'))
        client.on('connect_error', (err) => resolve(err.message))
      })
      client.close()
      assert.equal(connected, 'connected')
    })
  }

  it('run on the request of an upgrade, with a response that is never sent: the user pays as long as the socket lives', async () => {
    const onDenied: OnDenied = (err, _req, _res, next) => next(err)
    const bearer = requireBearer({ ...dev.options, warnings: false, onDenied })
    const throttled = throttle({ limitMs: 1_000_000, windowMs: 86_400_000, onDenied })
    const { server, url } = await serve((req, res) => res.end())
    server.on('upgrade', (req: Request, socket) => {
      const res = new ServerResponse(req) as Response
      const answer = (status: number) => socket.end(`HTTP/1.1 ${status} -\r\n\r\n`)
      const next = (then: () => void) => (err?: unknown) => void (err ? answer((err as DenialError).status) : then())
      const admitted = next(() => {
        const budget = budgetOf(req)
        budget.settle()
        budget.charge(600_000) // a message
        answer(200)
      })
      bearer(
        req,
        res,
        next(() => throttled(req, res, admitted)),
      )
    })
    const upgrade = (headers: object) =>
      new Promise<unknown>((resolve, reject) => {
        const asked = get(url, { headers: { ...headers, connection: 'Upgrade', upgrade: 'websocket' } })
        asked.on('response', (res) => resolve(res.resume().statusCode)).on('error', reject)
      })
    const statuses = []
    for (const headers of [as('ada'), {}, as('ada'), as('ada')]) statuses.push(await upgrade(headers))
    assert.deepEqual(statuses, [200, 401, 200, 429])
    const [usage] = await throttled.usage(`user:${dev.options.issuer.length}:${dev.options.issuer}:ada`)
    assert.equal(Math.round(Number(usage?.spentMs) / 600_000), 2)
  })

  async function listening(app: RequestListener): Promise<string> {
    return (await serve(app)).url
  }

  function fail(res: ServerResponse, err: unknown): void {
    res.statusCode = 500
    res.end(String(err))
  }
})

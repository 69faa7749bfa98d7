// One process of bench/sync-cost.ts: a throttle over Redis that is asked by users in turn, each request a timer's wait.
// Says how many syncs it sent, how many requests it let in, and whether an outage was declared.
import { subscribe } from 'node:diagnostics_channel'
import { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { Duplex } from 'node:stream'
import express, { type Express } from 'express'
import type * as tollgate from '../lib/index'

/** What the process is told. */
export interface CommandsLoad {
  /** The build's `index.js`. */
  readonly entry: string
  readonly redis: string
  readonly users: number
  readonly perSecond: number
  readonly handlerMs: number
  /** Handlers take from `handlerMs / scatter` to `handlerMs * scatter`. */
  readonly scatter: number
  readonly limitMs: number
  readonly forMs: number
}

/** What it says. */
export interface CommandsCount {
  readonly syncs: number
  readonly requests: number
  readonly refused: number
  readonly outages: number
}

type Asked = (...args: unknown[]) => unknown

/** Counts the reports that go to the store. */
function counted(store: object, count: (syncs: number) => void): object {
  const { serverOf } = store as { serverOf: (id: string) => { report: Asked } }
  const server = serverOf.call(store, '')
  const { report } = server
  server.report = (...args) => {
    count((args[2] as unknown[]).length)
    return report.apply(server, args)
  }
  return store
}

/** Has the app answer a request that comes over no socket. */
function ask(app: Express, user: string): Promise<number> {
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const req = new IncomingMessage(socket as never)
  Object.assign(req, { method: 'GET', url: '/work', headers: { user }, complete: true })
  const res = new ServerResponse(req)
  res.assignSocket(socket as never)
  return new Promise((resolve) => {
    res.once('finish', () => resolve(res.statusCode))
    app(req as never, res as never)
  })
}

async function serve(load: CommandsLoad): Promise<CommandsCount> {
  const { redisStore, throttle } = createRequire(__filename)(load.entry) as typeof tollgate
  let [syncs, requests, refused, outages] = [0, 0, 0, 0]
  subscribe('express-tollgate:degraded', () => void outages++)
  const store = counted(redisStore(load.redis), (n) => (syncs += n)) as ReturnType<typeof redisStore>
  const throttled = throttle({
    ...{ limitMs: load.limitMs, windowMs: 60_000, store },
    subject: (req) => String(req.headers.user),
  })
  const app = express()
  app.use(throttled)
  app.get('/work', (_req, res) => {
    const ms = load.handlerMs * load.scatter ** (2 * Math.random() - 1)
    if (ms >= 1) return void setTimeout(() => res.end(), ms)
    for (const end = performance.now() + ms; performance.now() < end;);
    res.end()
  })
  await throttled.ready()
  for (let i = 0; i < 40; i++) await ask(app, `warm-${i}`) // the route's price is known
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  syncs = 0
  const startedAt = performance.now()
  const under: Promise<void>[] = []
  for (let n = 0; performance.now() - startedAt < load.forMs; await new Promise(setImmediate)) {
    for (const due = ((performance.now() - startedAt) / 1_000) * load.perSecond; n < due; n++) {
      const user = `user-${Math.floor(Math.random() * load.users)}`
      under.push(ask(app, user).then((status) => void (status === 200 ? requests++ : refused++)))
    }
  }
  await Promise.all(under)
  await new Promise((resolve) => setTimeout(resolve, 500))
  const count = { syncs, requests, refused, outages }
  await throttled.close()
  return count
}

process.on('message', (load) => void serve(load as CommandsLoad).then((count) => process.send?.(count)))

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
  /** The number of the first of them. */
  readonly firstUser: number
  /** All users together ask so often, in no order; or each asks again after so many seconds, from the least to the most. */
  readonly perSecond: number | readonly [least: number, most: number]
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
function counting(store: object, count: (syncs: number) => void): object {
  const { serverOf } = store as { serverOf: (id: string) => { report: Asked } }
  const server = serverOf.call(store, '')
  const { report } = server
  server.report = (...args) => {
    count((args[1] as unknown[]).length)
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
  const store = counting(redisStore(load.redis), (n) => (syncs += n)) as ReturnType<typeof redisStore>
  const throttled = throttle({
    limitMs: load.limitMs,
    windowMs: 60_000,
    store,
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
  const count = (status: number) => void (status === 200 ? requests++ : refused++)
  const { perSecond, users, firstUser, forMs } = load
  if (typeof perSecond !== 'number') {
    const [least, most] = perSecond
    const gapMs = () => 1_000 * (least + Math.random() * (most - least))
    const again = (user: string) => {
      if (performance.now() - startedAt >= forMs) return
      under.push(ask(app, user).then(count))
      setTimeout(again, gapMs(), user)
    }
    for (let i = 0; i < users; i++) setTimeout(again, Math.random() * most * 1_000, `user-${firstUser + i}`)
    await new Promise((resolve) => setTimeout(resolve, forMs))
  } else
    for (let n = 0; performance.now() - startedAt < forMs; await new Promise(setImmediate))
      for (const due = ((performance.now() - startedAt) / 1_000) * perSecond; n < due; n++)
        under.push(ask(app, `user-${firstUser + Math.floor(Math.random() * users)}`).then(count))
  await Promise.all(under)
  await new Promise((resolve) => setTimeout(resolve, 500))
  const counted = { syncs, requests, refused, outages }
  await throttled.close()
  return counted
}

process.on('message', (load) => void serve(load as CommandsLoad).then((count) => process.send?.(count)))

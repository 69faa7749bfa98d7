// One process of an API under chaos: started by apis.ts, driven over HTTP. What its handlers did, it writes to a file of
// its own at the end of each turn, so that not even a killed process forgets: that log alone is what conservation is
// held to. Not at once, or the writing itself would count as processing time that the handlers do not see.
import { createHook } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { openSync, writeSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type Request, type Response } from 'express'
import { Cluster, Redis } from 'ioredis'
import { askingStore } from '../support/asking-store'
import { type AdmittedMessage, type ThrottleOptions, redisStore, serviceUnavailable, throttle } from '../../lib'

/** Where the processes share their windows. */
export type Place =
  | string
  | { readonly sentinels: { host: string; port: number }[]; readonly name: string }
  | { readonly cluster: { host: string; port: number }[] }

export interface ApiConfig {
  readonly redis: Place
  /** Throttles over one store, each mounted under its name. */
  readonly throttles: Readonly<Record<string, ThrottleOptions>>
  readonly log: string
}

const { redis, throttles, log } = JSON.parse(process.argv[2] as string) as ApiConfig
const file = openSync(log, 'a')

const WAKES_MS = 5
/** The throttle looks 10 ms apart, and requests share the time of a process that stood still for 20 ms more. */
const [STOOD_MS, LOOKS_US] = [15, 20_000]

/** Microseconds of the machine's monotonic clock: one clock for all processes. */
const now = () => Math.round(Number(process.hrtime.bigint()) / 1_000)
let notes: string[] = []
function note(...what: (string | number)[]): void {
  if (notes.length === 0) setImmediate(writeNotes)
  notes.push(`${what.join(' ')}\n`)
}
function writeNotes(): void {
  writeSync(file, notes.join(''))
  notes = []
}
process.on('exit', writeNotes) // the last charges may have been handed over before that turn's end
let requests = 0

function client(place: Exclude<Place, string>): Redis | Cluster {
  if ('cluster' in place) return new Cluster(place.cluster, { lazyConnect: true })
  return new Redis({ ...place, lazyConnect: true })
}

subscribe('express-tollgate:degraded', () => void process.stdout.write('degraded\n'))
// A request is charged from within the callback that lets it in: the machine may stop a process before it says so.
let calledAt = 0
createHook({ before: () => void (calledAt = now()) }).enable()
subscribe('express-tollgate:admitted', (told) => {
  const { locals } = (told as AdmittedMessage).req.res!
  locals.admitted = calledAt
})

/** The latest that this process woke, since it was asked. */
let stallMs = 0
let woke = performance.now()
setInterval(() => {
  const lateMs = performance.now() - woke - WAKES_MS
  stallMs = Math.max(stallMs, lateMs)
  if (lateMs >= STOOD_MS) note('stood', 0, '', now() - Math.round(lateMs * 1_000) - LOOKS_US, now())
  woke = performance.now()
}, WAKES_MS)

const store = askingStore(redisStore(typeof redis === 'string' ? redis : client(redis)), 'asking')
const all = Object.entries(throttles).map(([name, options]) => {
  return throttle({ name, ...options, store, subject: (req) => req.get('x-user') ?? null })
})

// A limit of a day has a tolerance of minutes, and these specs look for milliseconds: everything is published often.
const FLUSHED_FROM_MS = 86_400_000
const FLUSH_MS = 100
const exact = all.filter((_, i) => Number(Object.values(throttles)[i]?.limitMs) >= FLUSHED_FROM_MS)
if (exact.length > 0) setInterval(() => exact.forEach((each) => void each.flush()), FLUSH_MS).unref()

const app = express()
app.use('/usage/:at/:who', async (req, res) => void res.json(await all[Number(req.params.at)]?.usage(req.params.who)))
app.get('/clock', (_req, res) => void res.json(Date.now()))
app.get('/stall', (_req, res) => {
  res.json(stallMs)
  stallMs = 0
})
app.use((req, res, next) => {
  const { locals } = res
  locals.came = now()
  locals.id = ++requests
  // Refused or failed, or 0 where the client had gone before it was decided: no handler ran.
  res.once('close', () => {
    if (locals.started !== true)
      note('refused', locals.id as number, user(req), now(), res.writableFinished ? res.statusCode : 0, waited(res))
  })
  next()
})
Object.keys(throttles).forEach((name, i) => app.use(`/${name}`, all[i] as ReturnType<typeof throttle>))
app.get('/:throttle/:route/:ms', async (req, res) => {
  started(req, res)
  await sleep(Number(req.params.ms))
  const ended = now()
  res.end()
  note('end', res.locals.id as number, user(req), ended, now())
})
app.use(serviceUnavailable())

const user = (req: Request) => req.get('x-user') as string
const waited = (res: Response) => now() - (res.locals.came as number)

function started(req: Request, res: Response): void {
  res.locals.started = true
  const { id, admitted } = res.locals as { id: number; admitted: number }
  note('start', id, user(req), now(), req.params.ms as string, waited(res), admitted)
}

const server = app.listen(0, '127.0.0.1', 2_048, () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})
server.keepAliveTimeout = 0 // or a client now and then asks over a connection that is just being closed
process.on('SIGTERM', () => {
  server.close(() => void Promise.all(all.map((each) => each.close())).then(() => process.exit(0)))
  setInterval(() => server.closeIdleConnections(), 10) // those that answer now are idle in a moment
})

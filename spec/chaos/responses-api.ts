// An API behind throttle() whose handlers answer in every way a response can go; started by responses.spec.ts. Each
// handler tells its parent that it has begun, and by its own clock what it worked, and the most that may be charged.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type Request, type Response } from 'express'
import { redisStore, throttle } from '../../lib'

const { redis, windowMs } = JSON.parse(process.argv[2] as string) as { redis: string; windowMs: number }
const throttled = throttle({
  ...{ limitMs: 86_400_000, windowMs, name: 'responses', stalls: 'full' },
  store: redisStore(redis),
  subject: (req) => req.query.user as string,
})
const large = Buffer.alloc(8_000_000)
const app = express()
app.get('/usage/:who', async (req, res) => void res.json((await throttled.usage(req.params.who))[0]))
app.use((_req, res, next) => {
  res.locals.cameAt = performance.now()
  next()
})
app.use(throttled)

/** A handler that works for 40 ms before `then`, whatever the client does; says what it worked in all. */
const works =
  (then: (req: Request, res: Response) => void | Promise<void>, endsWith: 'end' | 'writeHead' = 'end') =>
  async (req: Request, res: Response): Promise<void> => {
    const from = performance.now()
    const endedAt = watchEnd(res, endsWith)
    tellMost(req, res)
    process.send?.({ user: req.query.user })
    await sleep(40)
    try {
      await then(req, res)
    } finally {
      process.send?.({ user: req.query.user, ms: (endedAt() ?? performance.now()) - from })
    }
  }

/** Says when the handler called the method that its work ends with: what that call takes is not its work any more. */
function watchEnd(res: Response, endsWith: 'end' | 'writeHead'): () => number | undefined {
  const end = res[endsWith].bind(res) as (...args: unknown[]) => Response
  let at: number | undefined
  res[endsWith] = (...args: unknown[]) => {
    at ??= performance.now()
    return end(...args)
  }
  return () => at
}

/** Tells what passed from before throttle() to the header, or to the end where none can be written: no charge is more. */
function tellMost(req: Request, res: Response): void {
  let told = false
  for (const name of ['writeHead', 'end'] as const) {
    const method = res[name].bind(res) as (...args: unknown[]) => Response
    res[name] = (...args: unknown[]) => {
      const returned = method(...args)
      if (!told) process.send?.({ user: req.query.user, mostMs: performance.now() - Number(res.locals.cameAt) })
      told = true
      return returned
    }
  }
}

app.get(
  '/aborted',
  works(async (_req, res) => {
    if (!res.closed) await once(res, 'close') // where the client's reset takes longer than the work
    res.end('nobody reads this')
  }),
)
app.get(
  '/not-modified',
  works((_req, res) => void res.set('ETag', '"1"').send('the same')),
)
app.get(
  '/thrown-before',
  works(() => Promise.reject(Object.assign(new Error('on purpose'), { status: 418 }))),
)
app.get(
  '/thrown-after',
  works((_req, res) => {
    res.write('half')
    return Promise.reject(Object.assign(new Error('on purpose'), { status: 418 }))
  }),
)
app.post(
  '/upload',
  works(async (req, res) => {
    let [bytes, waitedMs, from] = [0, 0, performance.now()]
    for await (const chunk of req) {
      waitedMs += performance.now() - from
      bytes += (chunk as Buffer).length
      from = performance.now()
    }
    process.send?.({ user: req.query.user, ms: -waitedMs, mostMs: -waitedMs }) // not to be charged
    res.json(bytes)
  }),
)
app.get(
  '/download',
  works((_req, res) => void setImmediate(() => res.end(large))), // sending it is not the handler's work
)
app.get(
  '/events',
  works(async (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    res.write('data: 1\n\n')
    await sleep(400)
    res.end('data: 2\n\n')
  }, 'writeHead'),
)
app.get(
  '/upgrade',
  works((_req, res) => {
    res.writeHead(101, { Connection: 'Upgrade', Upgrade: 'echo' })
    res.flushHeaders()
  }, 'writeHead'),
)
app.use((err: { status?: number }, _req: Request, res: Response, next: (err: unknown) => void) => {
  if (res.headersSent) return next(err)
  res.status(err.status ?? 500).end()
})

const server = createServer(app).listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})
process.on('disconnect', () => process.exit(0))

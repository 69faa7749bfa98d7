// An API of which a spec looks at the memory while many requests wait: started with --expose-gc, asked by messages.
import type { AddressInfo } from 'node:net'
import express, { type Response } from 'express'
import { throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'

/** What the spec may ask for; each is answered. */
export type WaitingQuestion = 'look' | 'tick' | 'weigh' | 'release'

/** What it is told. */
export interface WaitingLook {
  /** Of the heap and of buffers; where it was asked to weigh them, after everything that can be was collected. */
  readonly heapBytes: number
  /** Requests that came so far, and handlers that run. */
  readonly came: number
  readonly running: number
  readonly connections: number
}

const app = express()
let came = 0
let isReleased = false
const running = new Set<Response>()
app.use((_req, _res, next) => {
  came++
  next()
})
/** Stands still but for a tick: who runs spends nothing, and two of each subject are as many as may run. */
const clock = manualClock(Date.UTC(2026, 0, 1))
app.use(throttle({ limitMs: 6_000, windowMs: 2_592_000_000, clock, subject: (req) => req.get('x-user') ?? null }))
app.get('/', (_req, res) => {
  if (isReleased) return void res.end()
  running.add(res)
  res.once('close', () => running.delete(res))
})

const server = app.listen(0, '127.0.0.1', 4_096, () => process.send?.((server.address() as AddressInfo).port))
server.keepAliveTimeout = 0
process.on('message', (question: WaitingQuestion) => {
  if (question === 'release') {
    isReleased = true
    for (const res of running) res.end()
  }
  if (question === 'tick') clock.advance(25)
  server.getConnections((_err, connections) => {
    if (question === 'weigh') globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    process.send?.({ heapBytes: heapUsed + external, came, running: running.size, connections } satisfies WaitingLook)
  })
})

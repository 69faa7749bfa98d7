// One API behind throttle() over Redis, in a worker thread, whose handlers and timers block its event loop.
import { subscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { askingStore } from '../../support/asking-store'
import express from 'express'
import { type StoreMessage, redisStore, throttle } from '../../../lib/index'
import { listen } from '../../support/serve'
import { until } from '../../support/until'

/** What the worker is told. */
export interface Blocking {
  readonly redis: string
  /** Each admission asks Redis. */
  readonly isAsked: boolean
  readonly blocks: number
}

/** What it says: when a block began, and of each outage that the throttle announced when and why. */
export interface Said {
  readonly kind: 'block' | 'outage' | 'done'
  readonly at: number
  readonly cause?: string
}

const BLOCKS_MS = [500, 700, 1_000]
const { redis, isAsked, blocks } = workerData as Blocking
const say = (kind: Said['kind'], cause?: string) => parentPort?.postMessage({ kind, at: Date.now(), cause })

/** Stops the thread and with it the event loop, as a long computation does, but leaves the processor to the others. */
function block(ms: number): void {
  say('block')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

async function main(): Promise<void> {
  const terms = { limitMs: 86_400_000, windowMs: 86_400_000, subject: (req: express.Request) => req.path }
  const store = redisStore(redis)
  const throttled = throttle({ store: isAsked ? askingStore(store) : store, ...terms })
  const app = express()
  app.use(throttled)
  /** Blocks while a command is under way: its answer lies in the socket when the loop goes on. */
  async function blockAmidCommand(ms: number): Promise<void> {
    const answered = throttled.usage('/')
    for (let i = 0; i < 20; i++) await Promise.resolve() // until it is sent
    block(ms)
    await answered
  }
  app.get('/block/:ms', async (req, res) => {
    await blockAmidCommand(Number(req.params.ms))
    res.end()
  })
  app.get('/quick/:n', (_req, res) => void res.end())
  const { get, close } = await listen(app)
  await until(async () => (await throttled.usage('/'))[0]?.degraded, false)
  subscribe('express-tollgate:degraded', (told) => say('outage', String((told as StoreMessage).cause)))
  for (let i = 0; i < blocks; i++) {
    await sleep(41 * (i % 11)) // now amid a heartbeat, now amid a tick, now amid nothing
    const ms = BLOCKS_MS[i % BLOCKS_MS.length] as number
    const beside = Promise.all([get('/quick/1'), get('/quick/2')])
    if (i % 2 === 0) await get(`/block/${ms}`)
    else await new Promise<void>((resolve) => setTimeout(() => resolve(blockAmidCommand(ms)), i % 5))
    await beside
  }
  await close()
  await throttled.close()
  say('done')
}

void main()

import express, { type Express } from 'express'
import { type PacedFetchOptions, type Retry, pacedFetch } from '../../lib/client'
import { manualClock } from '../../lib/testing'
import { serve } from '../support/serve'

export const WINDOW = { limitMs: 1_000, windowMs: 10_000, subject: () => 'ada' }

/** Requests that are not answered yet. The clock stands still for them: what they take is what their handlers say. */
let onTheWire = 0
const send: typeof fetch = async (...args) => {
  onTheWire++
  try {
    return await fetch(...args)
  } finally {
    onTheWire--
  }
}

/** When the specs begin. Where a subject's windows end follows from the date: ada's here 1 s on, and 41 s for a minute. */
export const DATE = Date.UTC(2026, 0, 1)

/** An API whose handlers take as long as their path says, and its client, by one clock. */
export async function api(mount: (app: Express, clock: ReturnType<typeof manualClock>) => void) {
  const clock = manualClock(DATE)
  const seen: string[] = []
  const app = express()
  app.use((req, _res, next) => {
    seen.push(`${req.method} ${req.path}`)
    next()
  })
  mount(app, clock)
  app.all('/work/:ms', (req, res) => {
    clock.advance(Number(req.params.ms))
    res.json({ done: req.params.ms })
  })
  const { url } = await serve(app)
  const retries: Retry[] = []
  const client = (options: PacedFetchOptions = {}) => {
    const fetch = pacedFetch({ clock, fetch: send, onRetry: (retry) => retries.push(retry), ...options })
    return (path: string, init?: RequestInit) => fetch(url + path, init)
  }
  return { clock, seen, retries, client }
}

/** Lets time pass until the promise is settled, and says how much did. */
export async function passing<T>(clock: ReturnType<typeof manualClock>, promise: Promise<T>): Promise<[T, number]> {
  const began = clock.now()
  let settled = false
  const settle = () => void (settled = true)
  promise.then(settle, settle)
  while (!settled) {
    await new Promise((resolve) => setImmediate(resolve))
    if (!settled && onTheWire === 0) clock.advance(5)
  }
  return [await promise, clock.now() - began]
}

import type { TestContext } from 'node:test'
import express from 'express'
import { type Throttle, type ThrottleOptions, throttle, throttleTest } from '../../lib/index'
import { ready } from './ready'
import { type Answer, serve } from './serve'

export interface ThrottledApp {
  readonly throttled: Throttle
  /** Asks for so much processing time on a user's behalf. */
  readonly ask: (user: string, ms?: number, headers?: Record<string, string>) => Promise<Answer>
}

/**
 * An app whose users pay by the field X-User, once its store answers. It goes with the test; what the test starts before
 * and stops by `after()` must be said later, since these run in their order.
 */
export async function throttledApp(t: TestContext, options: ThrottleOptions): Promise<ThrottledApp> {
  const throttled = throttle({ subject: (req) => req.get('X-User'), ...options })
  const app = express().use(throttled)
  app.get('/', throttleTest())
  const { get } = await serve(app)
  t.after(() => throttled.close())
  await ready(throttled)
  return { throttled, ask: (user, ms = 0, headers) => get(`/?processingTime=${ms}`, { 'X-User': user, ...headers }) }
}

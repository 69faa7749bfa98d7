import type { TestContext } from 'node:test'
import express from 'express'
import { type Throttle, type ThrottleOptions, throttle, throttleTest } from '../../lib/index'
import { type Answer, listen } from './serve'
import { until } from './until'

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
  const { get, close } = await listen(app)
  t.after(async () => {
    await close()
    await throttled.close()
  })
  await until(async () => (await throttled.usage('nobody'))[0]?.degraded === false)
  return { throttled, ask: (user, ms = 0, headers) => get(`/?processingTime=${ms}`, { 'X-User': user, ...headers }) }
}

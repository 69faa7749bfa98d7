import type { Application, Request } from 'express'
import { Meter } from '../http/meter'
import { rootApp } from '../http/root-app'
import type { RequestStanding, ThrottleStanding } from './request-standing'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /** How the request's subject stands. Set by `throttle()`; undefined where the request is not throttled. */
      throttle: ThrottleStanding
    }
  }
}

const apps = new WeakSet<Application>()

/** How the request's subject stands, if a throttle has let it in. */
export function standingOf(req: Request): RequestStanding | undefined {
  return req.res && (Meter.observer(req.res) as RequestStanding | undefined) // nobody else looks on
}

/**
 * Shows the standing as `req.throttle`. The property is the app's, read through: a request that Express has given its
 * prototype is slow to take one of its own.
 */
export function show(req: Request): void {
  const app = rootApp(req.app)
  if (apps.has(app)) return
  apps.add(app)
  Object.defineProperty((app as unknown as { request: object }).request, 'throttle', {
    configurable: true,
    enumerable: true,
    get(this: Request) {
      return standingOf(this)?.shownBy(this)
    },
  })
}

import type { Request } from 'express'
import { Meter } from '../http/meter'
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

/** How the request's subject stands, if a throttle has let it in. */
export function standingOf(req: Request): RequestStanding | undefined {
  return req.res && (Meter.observer(req.res) as RequestStanding | undefined) // nobody else looks on
}

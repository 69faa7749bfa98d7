import type { Request } from 'express'
import { Meter } from '../http/meter'
import type { RequestStanding, ThrottleStanding } from './request-standing'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /**
       * How the request's subject stands, also where it is refused. Set by `throttle()`; undefined where the request is
       * not throttled, or not decided yet.
       */
      throttle: ThrottleStanding
    }
  }
}

/** The request's way through its windows, if it came to one. */
export function standingOf(req: Request): RequestStanding | undefined {
  return req.res && (Meter.observer(req.res) as RequestStanding | undefined) // nobody else looks on
}

import type { Request } from 'express'
import { Meter } from '../../http/meter'
import type { RequestCharges, RequestBudget } from './request-charges'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /**
       * How the request's subject stands, also where it is refused. Set by `throttle()`; undefined where the request is
       * not throttled, or not decided yet.
       */
      throttle: RequestBudget
    }
  }
}

/** The request's way through its windows, if it came to one. */
export function chargesOf(req: Request): RequestCharges | undefined {
  return req.res && (Meter.observer(req.res) as RequestCharges | undefined) // nobody else looks on
}

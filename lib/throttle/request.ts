import type { ThrottleStanding } from './request-standing'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /** How the request's subject stands. Set by `throttle()`; undefined where the request is not throttled. */
      throttle: ThrottleStanding
    }
  }
}

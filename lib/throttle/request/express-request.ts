import type { RequestBudget } from './request-charges'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /**
       * What the request's subject has used and has left, also where the request is refused. Set by `throttle()`;
       * undefined where the request is not throttled, or not decided yet.
       */
      throttle: RequestBudget
    }
  }
}

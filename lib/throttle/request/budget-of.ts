import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import { usageError } from '../../http/help'
import type { RequestBudget } from './budget'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the only way in for Express's own types
  namespace Express {
    interface Request {
      /**
       * What the request's subject has used and has left, also where the request is refused. Set by `throttle()`;
       * undefined where the request is not throttled, or not decided yet. `budgetOf(req)` is the same, and throws where
       * there is none.
       */
      throttle?: RequestBudget
    }
  }
}

/**
 * The budget of a request's subject, for handlers behind `throttle()`: `{ leftMs, spentMs, endsInMs, charge(ms) … }`.
 *
 * @example app.get('/tree', (req, res) => res.json({ leftMs: budgetOf(req).leftMs }))
 * @throws {TypeError} where no `throttle()` ran before, or where it does not throttle this request (`subject` returned
 *   null, or `routes` has false); read `req.throttle` there
 */
export function budgetOf(req: IncomingMessage): RequestBudget {
  const budget = (req as Partial<Request> | undefined)?.throttle
  if (budget !== undefined) return budget
  throw usageError(
    'budgetOf(req) found no budget in the request: mount throttle() before this handler. Where it exempts the request, ' +
      'read req.throttle, which may be undefined',
  )
}

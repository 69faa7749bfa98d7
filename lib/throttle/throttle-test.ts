import type { ServerResponse } from 'node:http'
import type { Denial } from '../errors'
import { type DenyOptions, checkDenyOptions, deny } from '../http/answer/deny'
import { usageError } from '../http/help'
import { Meter } from '../http/measure/meter'
import { type Middleware, middleware } from '../http/middleware'
import { optionNames } from '../http/options'
import { MOST_CHARGE_MS, ThrottledRequest } from './request/request'

/**
 * A resource with which an app's developer forces the throttled state and rehearses it:
 * `GET …/throttled?processingTime=N` adds N milliseconds to the caller's own sum and answers 200 with an empty body,
 * once the store has it or its deadline has passed.
 * The next request is refused if the sum has then reached the limit. Without the parameter nothing is added.
 *
 * N is 1 to 8 digits; anything else is answered with 400 and adds nothing.
 *
 * @example app.get('/platform/throttled', throttleTest())
 * @throws {TypeError} in the factory, naming the option that is wrong
 * @throws {Error} at a request that no throttle stands before
 */
export function throttleTest(options: DenyOptions = {}): Middleware {
  optionNames('throttleTest', options, ['onDenied', 'errorFormat', 'dialect'])
  checkDenyOptions(options)
  return middleware(function throttleTest(req, res, next) {
    const request = ThrottledRequest.of(Meter.on(res))
    if (request === undefined) {
      throw usageError(
        'throttleTest() needs a throttled resource: mount throttle() before it, and not with routes: false',
        Error,
      )
    }
    const given = processingTimes(req.originalUrl ?? req.url)
    const [ms] = given
    if (ms === undefined) return ok(res)
    if (given.length > 1) return deny(invalid('processingTime is given more than once'), options, req, res, next)
    if (!/^\d{1,8}$/.test(ms)) {
      return deny(
        invalid('processingTime must be a whole number of milliseconds, 1 to 8 digits'),
        options,
        req,
        res,
        next,
      )
    }
    const n = Number(ms)
    const reported = [request.charge(Math.min(n, MOST_CHARGE_MS), true)]
    if (n > MOST_CHARGE_MS) reported.push(request.charge(n - MOST_CHARGE_MS, true))
    request.time.settle() // what follows waits for the throttle itself
    // The next request is refused by every process that asks the store.
    void Promise.all(reported).then(() => ok(res), next)
  })
}

function ok(res: ServerResponse): void {
  res.statusCode = 200
  res.end()
}

/** Read from the URL itself: what `req.query` holds depends on the app's query parser. */
function processingTimes(url: string): string[] {
  const query = url.indexOf('?')
  return query === -1 ? [] : new URLSearchParams(url.slice(query)).getAll('processingTime')
}

function invalid(message: string): Denial {
  return { status: 400, code: 'invalid_request', message, headers: {} }
}

import type { RequestHandler } from 'express'
import { Meter } from './meter'

/**
 * Says in `X-PROCESSING-TIME` what each response cost, in whole milliseconds, for apps that want the header without a
 * throttle. `throttle()` and `requireBearer()` set it as well.
 *
 * @example app.use(processingTime())
 */
export function processingTime(): RequestHandler {
  return function processingTime(_req, res, next) {
    Meter.of(res)
    next()
  }
}

import { type Clock, checkClock } from '../clock'
import { Meter } from './meter'
import type { Middleware } from '../middleware'
import { optionNames } from '../options'

/**
 * Sets `X-PROCESSING-TIME`, the whole milliseconds that each response took, without a throttle or from an earlier
 * middleware on. `throttle()` sets it as well, and in the dialect `familysearch` also `requireBearer()`.
 *
 * @example app.use(processingTime())
 * @param options `clock`, for tests. Default: the process's
 * @throws {TypeError} in the factory, naming the wrong option
 */
export function processingTime(options: { readonly clock?: Clock | undefined } = {}): Middleware {
  optionNames('processingTime', options, ['clock'])
  const { clock } = options
  checkClock(clock)

  return function processingTime(_req, res, next) {
    Meter.of(res, clock).isTimeHidden = false
    next()
  }
}

import type { RequestHandler } from 'express'
import { type Clock, checkClock } from './clock'
import { Meter } from './meter'
import { optionNames } from './options'

/** Options of {@link processingTime}. */
export interface ProcessingTimeOptions {
  /** The clock, for tests. Default: the process's. */
  readonly clock?: Clock
}

/**
 * Says in `X-PROCESSING-TIME` what each response cost, in whole milliseconds, for apps that want the header without a
 * throttle, or want it measured from further ahead. `throttle()` and `requireBearer()` set it as well.
 *
 * @example app.use(processingTime())
 * @throws {TypeError} in the factory, naming the option that is wrong
 */
export function processingTime(options: ProcessingTimeOptions = {}): RequestHandler {
  optionNames('processingTime', options, ['clock'])
  const { clock } = options
  checkClock(clock)

  return function processingTime(_req, res, next) {
    Meter.of(res, clock)
    next()
  }
}

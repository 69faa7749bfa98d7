import type { ErrorRequestHandler, Request } from 'express'
import { answer } from './deny'
import { type ErrorFormat, checkErrorFormat } from './error-body'
import { Meter } from './meter'
import { optionNames, optionRange, optionType } from './options'

/** Options of {@link serviceUnavailable}. */
export interface ServiceUnavailableOptions {
  /** `Retry-After` where the error brings none: whole seconds, 1 to 86,400. Default 10. */
  readonly retryAfterSec?: number
  /** Hears of every error answered here, since its client learns nothing. Default: its stack to the console. */
  readonly log?: (err: unknown, req: Request) => void
  /** The media types of the error bodies. */
  readonly errorFormat?: ErrorFormat
}

/**
 * Error middleware, mounted last: an internal problem is answered with 503 and `Retry-After`, with nothing of the
 * inside in it. Errors of the client (4xx) are passed on.
 *
 * @example app.use(serviceUnavailable())
 * @throws {TypeError | RangeError} in the factory, naming the option that is wrong
 */
export function serviceUnavailable(options: ServiceUnavailableOptions = {}): ErrorRequestHandler {
  optionNames('serviceUnavailable', options, ['retryAfterSec', 'log', 'errorFormat'])
  const { retryAfterSec = 10, log = (err: unknown) => console.error(err), errorFormat } = options
  optionRange('retryAfterSec', retryAfterSec, 1, 86_400)
  optionType('log', log, 'function')
  checkErrorFormat(errorFormat)

  return function serviceUnavailable(err: unknown, req, res, next) {
    if (isOfTheClient(err) || res.headersSent) return next(err)
    Meter.of(res)
    try {
      log(err, req)
    } catch (failure) {
      console.error(failure) // a log that fails must not turn the answer into Express's own, stack and all
    }
    const headers = { 'Retry-After': retryAfter(err) ?? String(retryAfterSec) }
    answer(req, res, 503, 'Service Unavailable', headers, errorFormat)
  }
}

/** Express's own reading: `status` where it is one, else `statusCode`. Many errors carry a word in `status`. */
function isOfTheClient(err: unknown): boolean {
  const status = [field(err, 'status'), field(err, 'statusCode')].find(
    (value) => typeof value === 'number' && value >= 400 && value < 600,
  )
  return status !== undefined && (status as number) < 500
}

/** The error's own `Retry-After`, if it is one: clients read whole seconds only. */
function retryAfter(err: unknown): string | undefined {
  const headers = field(err, 'headers')
  if (typeof headers !== 'object' || headers === null) return undefined
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === 'retry-after' && /^[1-9]\d{0,4}$/.test(String(value))) return String(value)
  }
  return undefined
}

function field(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[name] : undefined
}

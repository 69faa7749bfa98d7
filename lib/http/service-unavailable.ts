import type { ErrorRequestHandler, Request } from 'express'
import { answer } from './deny'
import type { ErrorFormat } from './error-body'
import { Meter } from './meter'
import { optionRange } from './options'

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
 * @throws {RangeError} in the factory, where `retryAfterSec` is not a whole number from 1 to 86,400
 */
export function serviceUnavailable(options: ServiceUnavailableOptions = {}): ErrorRequestHandler {
  const { retryAfterSec = 10, log = (err: unknown) => console.error(err), errorFormat } = options
  optionRange('retryAfterSec', retryAfterSec, 1, 86_400)

  return function serviceUnavailable(err: unknown, req, res, next) {
    const status = field(err, 'status') ?? field(err, 'statusCode')
    if ((typeof status === 'number' && status >= 400 && status < 500) || res.headersSent) return next(err)
    Meter.of(res)
    log(err, req)
    const headers = { 'Retry-After': retryAfter(err) ?? String(retryAfterSec) }
    answer(req, res, 503, 'Service Unavailable', headers, errorFormat)
  }
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

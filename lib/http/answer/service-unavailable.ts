import type { ErrorRequestHandler, Request } from 'express'
import { callGuarded } from '../callback'
import { type DenyOptions, checkErrorResponseOptions, sendError } from './deny'
import { Meter } from '../measure/meter'
import { optionNames, optionRange, optionType } from '../options'

/** Options of {@link serviceUnavailable}. */
export interface ServiceUnavailableOptions extends Pick<DenyOptions, 'errorFormat' | 'dialect'> {
  /** `Retry-After` for errors that have none: whole seconds, 1 to 86,400. Default 10. */
  readonly retryAfterSec?: number | undefined
  /** Logs every error answered here. Clients see nothing of it. May be async. Default: `console.error`. */
  readonly log?: ((err: unknown, req: Request) => unknown) | undefined
}

/**
 * Error middleware, mounted last. It answers internal errors with 503 and `Retry-After` and discloses nothing of them.
 * It passes errors of the client (4xx) on.
 *
 * @example app.use(serviceUnavailable())
 * @throws {TypeError | RangeError} in the factory, naming the wrong option
 */
export function serviceUnavailable(options: ServiceUnavailableOptions = {}): ErrorRequestHandler {
  optionNames('serviceUnavailable', options, ['retryAfterSec', 'log', 'errorFormat', 'dialect'])
  const { retryAfterSec = 10, log = (err: unknown) => console.error(err) } = options
  optionRange('retryAfterSec', retryAfterSec, 1, 86_400)
  optionType('log', log, 'function')
  checkErrorResponseOptions(options)

  return function serviceUnavailable(err: unknown, req, res, next) {
    if (isClientError(err) || res.headersSent) return next(err)
    Meter.of(res)
    // With next() Express would send the log's failure and its stack to the client.
    callGuarded(() => log(err, req), console.error)
    const headers = { 'Retry-After': retryAfter(err) ?? String(retryAfterSec) }
    sendError(req, res, 503, 'Service Unavailable', headers, options)
  }
}

/** Status as Express reads it: `status` if it is an HTTP status, else `statusCode`. Many errors have a word in `status`. */
function isClientError(err: unknown): boolean {
  const status = [field(err, 'status'), field(err, 'statusCode')].find(
    (value) => typeof value === 'number' && value >= 400 && value < 600,
  )
  return status !== undefined && (status as number) < 500
}

/** The error's own `Retry-After`, if it is in whole seconds: clients read nothing else. */
function retryAfter(err: unknown): string | undefined {
  const headers = field(err, 'headers')
  if (typeof headers !== 'object' || headers === null) return undefined
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === 'retry-after' && /^[1-9]\d{0,4}$/.test(String(value))) return String(value)
  }
  return undefined
}

function field(object: unknown, name: string): unknown {
  return typeof object === 'object' && object !== null ? (object as Record<string, unknown>)[name] : undefined
}

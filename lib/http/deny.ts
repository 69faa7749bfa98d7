import type { NextFunction, Request, Response } from 'express'
import { type Denial, type DenialError, denialError } from '../errors'
import { type Dialect, checkDialect, dialectOf } from './dialect'
import { errorBody } from './error-body'
import { type ErrorFormatOption, checkErrorFormat } from './error-format'
import { optionType } from './options'

/** Answers a denied request instead of the package: `(err, req, res, next) => next(err)` passes the error to the app. */
export type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => void

/** Format of error responses. */
export interface ErrorResponseOptions {
  /** Form of error bodies: `'json'`, `'problem'` (RFC 9457) or `{ default, json, xml, xmlNamespace }`. Default: the dialect's. */
  readonly errorFormat?: ErrorFormatOption
  /** Formats on the wire: `'familysearch'` or `'standard'`. Default: `app.get('tollgate dialect')`, else `'familysearch'`. */
  readonly dialect?: Dialect
}

/** How a factory answers the requests that it denies. */
export interface DenyOptions extends ErrorResponseOptions {
  /** Answers denied requests. Default: the package answers them. */
  readonly onDenied?: OnDenied
}

/** @throws {TypeError} naming the option that is wrong */
export function checkDenyOptions({ onDenied, ...options }: DenyOptions): void {
  optionType('onDenied', onDenied, 'function')
  checkErrorResponseOptions(options)
}

/** @throws {TypeError} naming the option that is wrong */
export function checkErrorResponseOptions({ errorFormat, dialect }: ErrorResponseOptions): void {
  checkErrorFormat(errorFormat)
  checkDialect(dialect)
}

/** Answers a denied request, or hands it to `onDenied`. Never throws: a request may be denied outside of Express's stack. */
export function deny(denial: Denial, options: DenyOptions, req: Request, res: Response, next: NextFunction): void {
  try {
    if (options.onDenied) options.onDenied(denialError(denial), req, res, next)
    else sendError(req, res, denial.status, denial.message, denial.headers, options)
  } catch (err) {
    next(err)
  }
}

/** Fields that a handler may have set for the body that the error replaces. */
const BODY_FIELDS = new Set([
  ...['content-encoding', 'content-language', 'content-range', 'content-location', 'content-disposition'],
  ...['etag', 'last-modified', 'cache-control', 'expires', 'accept-ranges', 'transfer-encoding', 'trailer'],
])

/** Sends an error with a body in the media type that `Accept` prefers. Removes the fields of any other body. */
export function sendError(
  req: Request,
  res: Response,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>>,
  options: ErrorResponseOptions,
): void {
  const dialect = dialectOf(options.dialect, req)
  const { type, text } = errorBody(req.headers.accept, status, message, options.errorFormat, dialect)
  for (const name of res.getHeaderNames()) if (BODY_FIELDS.has(name)) res.removeHeader(name)
  res.status(status).vary('Accept')
  for (const name in headers) res.setHeader(name, headers[name] as string)
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(req.method === 'HEAD' ? undefined : text)
}

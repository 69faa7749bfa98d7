import type { ServerResponse } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { type Denial, type DenialError, denialError } from '../../errors'
import { asError, callGuarded } from '../callback'
import { type Dialect, bodyDialect, checkDialect, dialectOf } from './dialect'
import { errorBody } from './error-body'
import { type ErrorFormat, checkErrorFormat } from './error-format'
import { optionType } from '../options'

/**
 * Answers a denied request instead of the package: `(err, req, res, next) => next(err)` passes the error to the app. May
 * be async; its failure is passed to `next()`.
 */
export type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => unknown

/** How a factory answers the requests that it denies. */
export interface DenyOptions {
  /** Answers denied requests. Default: the package answers them. */
  readonly onDenied?: OnDenied | undefined
  /** Form of error bodies: `'json'`, `'problem'` (RFC 9457) or `{ default, json, xml, xmlNamespace }`. Default: the dialect's. */
  readonly errorFormat?: ErrorFormat | 'json' | 'problem' | undefined
  /** Formats on the wire: `'familysearch'` or `'standard'`. Default: `app.get('tollgate dialect')`, else `'familysearch'`. */
  readonly dialect?: Dialect | undefined
}

/** Format of error responses. */
export type ErrorResponseOptions = Pick<DenyOptions, 'errorFormat' | 'dialect'>

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
  const { onDenied } = options
  const { status, message, headers } = denial
  const answer = () => {
    if (!onDenied) return sendError(req, res, status, message, headers, options)
    // Whatever answers has them: Nest's and other error handlers do not read `err.headers`.
    if (!res.headersSent) for (const name in headers) res.setHeader(name, headers[name] as string)
    return onDenied(denialError(denial), req, res, next)
  }
  callGuarded(answer, (failure) => next(asError(failure)))
}

/** Header fields that a handler may have set for the replaced body. */
const BODY_FIELDS = new Set([
  ...['content-encoding', 'content-language', 'content-range', 'content-location', 'content-disposition'],
  ...['etag', 'last-modified', 'accept-ranges', 'transfer-encoding', 'trailer'],
])

/**
 * Sends an error with a body in the media type that `Accept` prefers. Removes header fields of the replaced body. The
 * app's caching fields stay, unless a shared cache could send the error to others.
 */
export function sendError(
  req: Request,
  res: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>>,
  options: ErrorResponseOptions,
): void {
  const { errorFormat } = options
  const dialect = (errorFormat === undefined ? bodyDialect : dialectOf)(options.dialect, req)
  const { type, text } = errorBody(req.headers.accept, status, message, errorFormat, dialect)
  for (const name of res.getHeaderNames()) if (BODY_FIELDS.has(name)) res.removeHeader(name)
  res.statusCode = status
  varyByAccept(res)
  for (const name in headers) res.setHeader(name, headers[name] as string)
  if (!isCachingRestricted(res)) res.setHeader('Cache-Control', 'no-store')
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(req.method === 'HEAD' ? undefined : text)
}

function varyByAccept(res: ServerResponse): void {
  const fields = [res.getHeader('Vary') ?? []].flat().join(', ')
  if (!/(?:^|,)\s*(?:\*|accept)\s*(?:,|$)/i.test(fields)) res.setHeader('Vary', fields ? `${fields}, Accept` : 'Accept')
}

function isCachingRestricted(res: ServerResponse): boolean {
  const directives = [res.getHeader('Cache-Control') ?? []].flat().join()
  if (/\b(?:private|no-store|no-cache)\b/i.test(directives)) return true
  return directives !== '' && !/\bpublic\b|\bs-maxage\b|\bmax-age="?0*[1-9]/i.test(directives)
}

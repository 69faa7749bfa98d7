import type { NextFunction, Request, Response } from 'express'
import { type Denial, type DenialError, denialError } from '../errors'
import { type ErrorFormat, checkErrorFormat, errorBody } from './error-body'
import { optionType } from './options'

/** Takes a denial out of the package's hands: `(err, req, res, next) => next(err)` gives it to the app. */
export type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => void

/** How a factory answers what it does not let through. */
export interface DenyOptions {
  /** Answers in the package's place. Default: the package answers. */
  readonly onDenied?: OnDenied
  /** The media types of the error bodies. */
  readonly errorFormat?: ErrorFormat
}

/** @throws {TypeError} naming the option that is wrong */
export function checkDenyOptions({ onDenied, errorFormat }: DenyOptions): void {
  optionType('onDenied', onDenied, 'function')
  checkErrorFormat(errorFormat)
}

/** Answers a request that is not let through, or hands it to `onDenied`. */
export function deny(denial: Denial, options: DenyOptions, req: Request, res: Response, next: NextFunction): void {
  if (options.onDenied) options.onDenied(denialError(denial), req, res, next)
  else answer(req, res, denial.status, denial.message, denial.headers, options.errorFormat)
}

/** What a handler may have said of the body it did not come to send. */
const OF_ANOTHER_BODY = new Set([
  ...['content-encoding', 'content-language', 'content-range', 'content-location', 'content-disposition'],
  ...['etag', 'last-modified', 'cache-control', 'expires', 'accept-ranges', 'transfer-encoding', 'trailer'],
])

/** Sends an error with a negotiated body. */
export function answer(
  req: Request,
  res: Response,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>>,
  format?: ErrorFormat,
): void {
  const { type, text } = errorBody(req.headers.accept, status, message, format)
  for (const name of res.getHeaderNames()) if (OF_ANOTHER_BODY.has(name)) res.removeHeader(name)
  res.status(status).vary('Accept')
  for (const name in headers) res.setHeader(name, headers[name] as string)
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', Buffer.byteLength(text))
  res.end(req.method === 'HEAD' ? undefined : text)
}

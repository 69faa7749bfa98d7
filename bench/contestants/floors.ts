import type { ServerResponse } from 'node:http'
import type { Request, RequestHandler } from 'express'
import { processingTime } from 'express-tollgate'
import { LIMIT_MS } from '../load-parameters'
import { type Contestant, appWith } from './setup'

/** Express, and nothing else. */
export const bare: Contestant = () => appWith()

/**
 * The fields that the specification wants, set as late as they can be known, and nothing else: by the prototype of the
 * app's responses, which is the quickest way found, and with no memory of which request began when.
 */
export const bareWithFields: Contestant = () => {
  let begun = 0
  const app = appWith((_req, _res, next) => {
    begun = performance.now()
    next()
  })
  type WriteHead = (this: ServerResponse, ...args: unknown[]) => unknown
  const { response } = app as unknown as { response: { writeHead: WriteHead } }
  const { writeHead } = response
  response.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    this.setHeader('X-THROTTLE-WINDOW-SIZE', LIMIT_MS)
    this.setHeader('X-THROTTLE-MILLIS-USED', 1)
    this.setHeader('X-THROTTLE-MILLIS-LEFT', LIMIT_MS - 1)
    this.setHeader('X-PROCESSING-TIME', Math.round(performance.now() - begun))
    return Reflect.apply(writeHead, this, args)
  }
  return app
}

/** `X-PROCESSING-TIME` by this package. */
export const processingTimeOnly: Contestant = () => appWith(processingTime())

const BODY =
  '<?xml version="1.0" encoding="UTF-8"?>\n<errors xmlns="http://familysearch.org/v1/">' +
  '<error><code>429</code><message>Too Many Requests</message></error></errors>\n'

/** The answer to a refused request, without a reason. */
export const bareRefusal: Contestant = () => {
  const refuse: RequestHandler = (_req: Request, res) => {
    const begun = performance.now()
    res.status(429).vary('Accept')
    res.setHeader('Retry-After', '60')
    res.setHeader('Content-Type', 'application/x-fs-v1+xml')
    res.setHeader('Content-Length', Buffer.byteLength(BODY))
    res.setHeader('X-PROCESSING-TIME', Math.round(performance.now() - begun))
    res.end(BODY)
  }
  return appWith(refuse)
}

import type { ServerResponse } from 'node:http'
import type { Request, RequestHandler } from 'express'
import { LIMIT_MS, REFUSED_WINDOW_MS } from '../loads'
import { type Contestant, appWith } from './setup'

/** Express, and nothing else. */
export const bare: Contestant = () => appWith()

/**
 * The fields that the specification wants, set as late as they can be known, and nothing else: by the prototype of the
 * app's responses, which is the quickest way found, and with no memory of which request began when. What is used grows
 * from answer to answer, as it must wherever it is true: a value that never changes costs less to write.
 */
export const bareWithFields: Contestant = () => {
  let begun = 0
  let usedMs = 0
  const app = appWith((_req, _res, next) => {
    begun = performance.now()
    next()
  })
  type WriteHead = (this: ServerResponse, ...args: unknown[]) => unknown
  const { response } = app as unknown as { response: { writeHead: WriteHead } }
  const { writeHead } = response
  response.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    const tookMs = performance.now() - begun
    usedMs += tookMs
    this.setHeader('X-THROTTLE-WINDOW-SIZE', LIMIT_MS)
    this.setHeader('X-THROTTLE-MILLIS-USED', Math.round(usedMs))
    this.setHeader('X-THROTTLE-MILLIS-LEFT', LIMIT_MS - Math.round(usedMs))
    this.setHeader('X-PROCESSING-TIME', Math.round(tookMs))
    return Reflect.apply(writeHead, this, args)
  }
  return app
}

const BODY =
  '<?xml version="1.0" encoding="UTF-8"?>\n<errors xmlns="http://familysearch.org/v1/">' +
  '<error><code>429</code><message>Too Many Requests</message></error></errors>\n'

/** The answer to a refused request, with all fields that ours has, and without a reason. */
export const bareRefusal: Contestant = () => {
  const endsAt = performance.now() + REFUSED_WINDOW_MS
  const refuse: RequestHandler = (_req: Request, res) => {
    const begun = performance.now()
    res.status(429).vary('Accept')
    res.setHeader('Retry-After', String(Math.ceil((endsAt - begun) / 1_000)))
    res.setHeader('Content-Type', 'application/x-fs-v1+xml')
    res.setHeader('Content-Length', Buffer.byteLength(BODY))
    res.setHeader('X-PROCESSING-TIME', Math.round(performance.now() - begun))
    res.end(BODY)
  }
  return appWith(refuse)
}

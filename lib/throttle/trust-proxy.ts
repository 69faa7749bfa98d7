import type { Request } from 'express'
import { warnOnce } from '../http/warn-once'

/** `req.ip` is only the client's address where Express knows how many proxies stand before it. */
export function checkTrustProxy(req: Request): void {
  const trust: unknown = req.app.get('trust proxy')
  if (trust === true) {
    warnOnce(
      'TOLLGATE_TRUST_PROXY',
      "app.set('trust proxy', true) believes any X-Forwarded-For, so a client may choose its address and with it whose " +
        'processing time it uses; set the number of proxies instead',
    )
  } else if (!trust && req.headers['x-forwarded-for'] !== undefined) {
    warnOnce(
      'TOLLGATE_TRUST_PROXY',
      'a request came with X-Forwarded-For while trust proxy is not set: all clients behind the proxy share one ' +
        "processing time; app.set('trust proxy', 1) if there is one proxy",
    )
  }
}

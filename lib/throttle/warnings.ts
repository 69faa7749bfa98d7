import type { Request } from 'express'
import { bearerCheckOf } from '../bearer/request-session'
import { shown } from '../http/options'
import type { SharedWindow } from './sync/shared-window'
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

/** Where the session is known only after the throttle has run, the address was charged and the user was not. */
export function warnIfSignedIn(req: Request): void {
  if (bearerCheckOf(req)?.session === undefined) return
  warnOnce(
    'TOLLGATE_ORDER',
    'throttle() ran before requireBearer(), so the address paid and not the user; mount requireBearer() first, ' +
      'or give throttle() a subject of its own',
  )
}

/** Whether two stores of one server keep the same window: a request that passes both is charged once. Warns of it. */
export function isTwin(one: SharedWindow, other: SharedWindow): boolean {
  const keeps = one.health?.store.keeps
  if (keeps === undefined || keeps !== other.health?.store.keeps) return false
  if (one.name !== other.name || one.windowMs !== other.windowMs) return false
  warnOnce(
    'TOLLGATE_TWO_STORES',
    `a request passes two throttles with a window named ${shown(one.name)}, each with a redisStore() of its own for ` +
      'the same server: the first alone charges the request; give both the same store, or one of the windows another name',
  )
  return true
}

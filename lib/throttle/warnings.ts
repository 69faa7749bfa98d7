import type { Request } from 'express'
import { bearerCheckOf } from '../bearer/request-session'
import { shown } from '../http/options'
import type { SharedWindow } from './sync/shared-window'
import { warnOnce } from '../http/warn-once'

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

import type { IncomingMessage } from 'node:http'
import { bearerCheckOf } from '../bearer/request-session'
import { shown } from '../http/options'
import { warnOnce } from '../http/warn-once'
import { addressSubject } from './subject'
import type { Budgets } from './budgets'
import type { ThrottleOptions } from './options'

/** A request that an address pays for: what to look at when the response has ended. */
export interface OrderCheck {
  /** No `subject` was given. */
  readonly isAssumed: boolean
  /** The request may be the login itself. */
  readonly mayStillSignIn: boolean
}

/**
 * Undefined where addresses are meant to pay (`subject: addressSubject`).
 *
 * @param subject the option of the throttle
 */
export function orderCheck(req: IncomingMessage, subject: ThrottleOptions['subject']): OrderCheck | undefined {
  if (subject === addressSubject) return undefined
  const { session } = req as SignedIn
  const mayStillSignIn = session !== undefined && session?.passport?.user === undefined
  return { isAssumed: subject === undefined, mayStillSignIn }
}

/** Warns where a user was signed in, and the address paid. */
export function checkOrder(req: IncomingMessage, { isAssumed, mayStillSignIn }: OrderCheck): void {
  if (isAssumed && bearerCheckOf(req)?.session !== undefined) return warnOfBearer()
  const { user, session } = req as SignedIn
  if (user === undefined || user === null) return
  const hasSignedIn = mayStillSignIn && session?.passport?.user !== undefined
  if (!hasSignedIn) warnOfUser(isAssumed)
}

/** What Passport and its like leave on a request. */
interface SignedIn {
  readonly user?: unknown
  readonly session?: { readonly passport?: { readonly user?: unknown } } | null
}

function warnOfBearer(): void {
  warnOnce(
    'TOLLGATE_ORDER',
    'throttle() ran before requireBearer(), so the address paid and not the user; mount requireBearer() first, ' +
      'or give throttle() a subject of its own',
  )
}

function warnOfUser(isAssumed: boolean): void {
  const remedy = isAssumed ? 'give throttle() a subject that reads req.user, and mount it' : 'mount throttle()'
  warnOnce(
    'TOLLGATE_ORDER',
    'throttle() charged an address, and req.user was set when the response ended, so the address paid and not the ' +
      `user; ${remedy} after the middleware that sets req.user, such as passport.session(). If addresses are to pay, ` +
      'set subject: addressSubject',
    'TOLLGATE_ORDER: req.user',
  )
}

/** The text of a value that is not there: `user:${req.user?.id}` where nobody is signed in. */
const MISSING = /(?:^|:)(undefined|null|NaN|\[object Object\])$/

/** Warns of a subject that names nobody: all such requests share one budget. */
export function warnOfMissingId(who: string, subject: { readonly name: string }): void {
  const missing = MISSING.exec(who)?.[1]
  if (missing === undefined) return
  const name =
    subject.name === 'subject' ? 'subject(req)' : `subject, the function ${subject.name || 'without a name'},`
  warnOnce(
    'TOLLGATE_SUBJECT',
    `${name} returned a string that ends in "${missing}": all such requests share one budget; return ` +
      'undefined where there is no id, for the default payer, or null to exempt the request',
  )
}

/** Whether two stores of one server keep the same accounts: a subject that passes both is charged once. Warns of it. */
export function isTwin(one: Budgets, other: Budgets): boolean {
  const keeps = one.shared?.store.keeps
  if (keeps === undefined || keeps !== other.shared?.store.keeps) return false
  if (one.name !== other.name || one.windowMs !== other.windowMs) return false
  warnOnce(
    'TOLLGATE_TWO_STORES',
    `a request passes two throttles with a window named ${shown(one.name)}, each with a redisStore() of its own for ` +
      'the same server: the first alone charges the request; give both the same store, or one of the windows another name',
  )
  return true
}

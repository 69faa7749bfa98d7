import { deny } from '../http/answer/deny'
import { optionError, usageError } from '../http/help'
import { type Middleware, middleware } from '../http/middleware'
import { option, readOptions, wholeNumber } from '../http/option-table'
import { ACR_VALUES, areAcrValues, denialOf } from './challenge'
import { publish } from './diagnostics'
import type { Refusal } from './refusal/refusal'
import { bearerCheckOf } from './request-session'
import type { Claims } from './session/session'

/** Options of {@link requireAuthentication}; at least one. */
export interface AuthenticationOptions {
  /** Accepted classes of the login (`acr`): `['urn:example:mfa']`. */
  readonly acrValues?: readonly string[] | undefined
  /** Largest age of the login (`auth_time`): whole seconds, 0 to 31,536,000. */
  readonly maxAgeSec?: number | undefined
}

const TABLE = {
  acrValues: option<readonly string[]>(ACR_VALUES, areAcrValues, []),
  maxAgeSec: wholeNumber(0, 31_536_000),
}

/**
 * Lets in sessions whose login is strong and recent enough. Others get 401 `insufficient_user_authentication` (RFC 9470
 * §3), which asks for a new login. Mount it on a route, after `requireBearer()`; both send errors in the same format.
 *
 * @example app.post('/transfer', requireAuthentication({ acrValues: ['urn:example:mfa'], maxAgeSec: 300 }), transfer)
 * @throws {TypeError|RangeError} in the factory, naming the option; for a request, if no `requireBearer()` ran before
 */
export function requireAuthentication(options: AuthenticationOptions): Middleware {
  const { acrValues, maxAgeSec } = readOptions('requireAuthentication()', options, TABLE)
  if (acrValues.length === 0 && maxAgeSec === undefined) {
    throw optionError('requireAuthentication() must be given acrValues or maxAgeSec')
  }
  const authentication = { acrValues: [...acrValues], maxAgeSec }

  return middleware(function requireAuthentication(req, res, next) {
    const checked = bearerCheckOf(req)
    if (!checked) throw usageError('requireAuthentication() must stand after requireBearer()')
    const { session, config } = checked
    if (session && isEnough(session.claims, config.nowSec(), config.clockToleranceSec)) return next()
    const refusal: Refusal = session ? { refused: 'authentication', authentication } : { refused: 'no_token' }
    publish(req, refusal)
    deny(denialOf(refusal, config.challenge), config.deny, req, res, next)
  })

  function isEnough({ acr, auth_time: at }: Claims, nowSec: number, toleranceSec: number): boolean {
    if (acrValues.length > 0 && !acrValues.includes(acr as string)) return false
    if (maxAgeSec === undefined) return true
    if (typeof at !== 'number' || at > nowSec + toleranceSec) return false
    return nowSec - at <= maxAgeSec + toleranceSec
  }
}

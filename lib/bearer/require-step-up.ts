import type { Dialect } from '../http/answer/dialect'
import { optionError } from '../http/help'
import type { Middleware } from '../http/middleware'
import { checkedLater, readOptions, wholeNumber } from '../http/option-table'
import { ACR_OPTION } from './challenge'
import { STEP_UP_HINTS } from './options-of-other-packages'
import { sessionRule } from './session-rule'
import type { Session } from './session/session'

const TABLE = {
  acr: ACR_OPTION,
  maxAgeSec: wholeNumber(0, 31_536_000),
  dialect: checkedLater<Dialect>(),
}

/**
 * Lets in sessions whose login is strong and recent enough. Others get 401 `insufficient_user_authentication` (RFC 9470
 * §3), which asks for a new login. Mount it on a route, after `requireBearer()`; both send errors in the same format.
 *
 * @example app.post('/transfer', requireStepUp({ acr: 'urn:example:mfa', maxAgeSec: 300 }), transfer)
 * @throws {TypeError|RangeError} in the factory, naming the option; for a request, if no `requireBearer()` ran before
 */
export function requireStepUp(options: {
  /**
   * Accepted class of the login, or a list of those accepted: `'urn:example:mfa'`. The token has it in `acr`, or in the
   * claims of `acrFrom`; presets name theirs. Default: any.
   */
  readonly acr?: string | readonly string[] | undefined
  /**
   * Largest time since the login (`auth_time`, or the claim of `authTimeFrom`; presets name theirs): whole seconds, 0 to 31,536,000. It is `max_age` of RFC 9470. The age of
   * the token is `maxTokenAgeSec` of `requireBearer()`. Default: any.
   */
  readonly maxAgeSec?: number | undefined
  /** Formats on the wire: `'familysearch'` or `'standard'`. Default: those of `requireBearer()`. */
  readonly dialect?: Dialect | undefined
}): Middleware {
  const values = readOptions('requireStepUp()', options, TABLE, STEP_UP_HINTS)
  const { maxAgeSec, dialect } = values
  const acr = [values.acr].flat()
  if (acr.length === 0 && maxAgeSec === undefined) throw optionError('requireStepUp() must be given acr or maxAgeSec')

  return sessionRule('requireStepUp', dialect, ({ session, config }) => {
    if (!session) return { refused: 'no_token' }
    if (isEnough(session, config.nowSec(), config.clockToleranceSec)) return undefined
    return { refused: 'authentication', authentication: { acr, maxAgeSec } }
  })

  function isEnough({ acr: given, authTime: at }: Session, nowSec: number, toleranceSec: number): boolean {
    if (acr.length > 0 && !given?.some((one) => acr.includes(one))) return false
    if (maxAgeSec === undefined) return true
    if (at === undefined || at > nowSec + toleranceSec) return false
    return nowSec - at <= maxAgeSec + toleranceSec
  }
}

import type { Clock } from '../http/clock'
import { fetchFailure } from '../http/fetch-failure'
import { shown } from '../http/options'
import { warn } from '../http/warn-once'
import type { Reason, RefusedBy, Refusal } from './refusal/refusal'
import { SessionProblem } from './session/session'

/** The same cause is warned of once in this time. */
const EVERY_MS = 60_000

/**
 * Warns of refusals that are the configuration's or the issuer's fault, since the client that gets 401 or 503 cannot
 * mend them: an issuer that cannot be reached, another issuer's name, another audience. Once per cause and minute, as
 * `TOLLGATE_ISSUER`, with the issuer, the address, the cause and the remedy.
 *
 * @returns what is told of every refusal
 */
export function issuerWarnings(clock: Clock): (refusal: Refusal) => void {
  const warnedAt = new Map<string, number>()
  return ({ refused, about = {}, cause }) => {
    const explain = MESSAGES[refused]
    if (!explain || (IF_CAUSED.has(refused) && cause === undefined)) return
    // Of few values, whatever clients send: it is remembered.
    const { remedy } = fetchFailure(cause, 'documents')
    const name = [refused, about.issuer, remedy].join(' ')
    if (clock.now() - (warnedAt.get(name) ?? -Infinity) < EVERY_MS) return
    warnedAt.set(name, clock.now())
    warn('TOLLGATE_ISSUER', explain(about, cause))
  }
}

/** Without a cause these are clients' faults. */
const IF_CAUSED: ReadonlySet<Reason> = new Set(['unknown_key', 'session_kind', 'claim_check'])

const MESSAGES: { readonly [reason in Reason]?: (about: RefusedBy, cause: unknown) => string } = {
  keys_unavailable({ issuer }, cause) {
    const { why, remedy } = fetchFailure(cause, 'documents')
    return `the keys of the issuer ${shown(issuer)} cannot be had: ${why}. Requests get 503 meanwhile: ${remedy}`
  },

  /** With a cause: the issuer shows the key, and it is left out. */
  unknown_key({ issuer }, cause) {
    const { message } = cause as Error
    return (
      `a token of the issuer ${shown(issuer)} was refused with 401: ${message}. If its tokens should be let in, have the ` +
      'issuer sign with another key, or set algorithms'
    )
  },

  introspection_unavailable({ issuer }, cause) {
    const { why, remedy } = fetchFailure(cause, 'introspection')
    return `the issuer ${shown(issuer)} cannot be asked about tokens: ${why}. Requests get 503 meanwhile: ${remedy}`
  },

  verify_unavailable(_about, cause) {
    return `the option verify threw ${thrown(cause)}. Requests get 503 meanwhile: err.cause of onDenied has it`
  },

  session_kind({ issuer }, cause) {
    const what = cause instanceof SessionProblem ? cause.message : `the option session threw ${thrown(cause)}`
    return `${what} for a token of the issuer ${shown(issuer)}, which was refused with 401: err.cause of onDenied has it`
  },

  claim_check({ issuer }, cause) {
    return (
      `the option checkClaims threw ${thrown(cause)} for a token of the issuer ${shown(issuer)}, which was refused with ` +
      '401: err.cause of onDenied has it'
    )
  },

  issuer({ received, expected }) {
    return (
      `a token of the issuer ${shown(received)} was refused with 401, since ${shown(expected)} is trusted. If its tokens ` +
      'should be let in, set issuer to exactly what they say, with a slash at the end or without'
    )
  },

  audience({ issuer, received, expected }) {
    return (
      `a token of the issuer ${shown(issuer)} was refused with 401, since it is for the audience ${shown(received)} and ` +
      `this API is ${shown(expected)}. If it should be let in, set audience, or have the issuer set aud`
    )
  },
}

/** What was thrown, without its message: that may hold a token. */
function thrown(cause: unknown): string {
  return cause instanceof Error ? cause.name : typeof cause
}

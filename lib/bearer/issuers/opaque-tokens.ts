import type { Clock } from '../../http/clock'
import { usageError } from '../../http/help'
import { readJsonObject } from '../../http/json'
import {
  type ClaimPolicy,
  claimRefusal,
  opaqueClaimProblem,
  timesAsNumbers,
  timesHold,
  withoutNull,
} from '../claims/claims'
import { type Refusal, refuse } from '../refusal/refusal'
import type { Claims } from '../session/session'
import type { VerifiedToken, Verify } from './token-verifier'

/** An issuer whose tokens are checked by an answer about each: of its endpoint, or of a function of the app. */
export interface OpaqueIssuer {
  readonly policy: ClaimPolicy
  readonly verify: Verify
}

/** The option `verify`. It throws if the check is impossible now: the request gets 503. */
export type VerifyToken = (token: string) => Promise<object | null | undefined> | object | null | undefined

/** Checks tokens with a function of the app, such as a lookup in a store. The claims it returns are checked as usual. */
export function verifyingByApp(verifyToken: VerifyToken, policy: ClaimPolicy, clock: Clock): Verify {
  return async (token) => {
    try {
      const answer = await verifyToken(token)
      if (answer === null || answer === undefined) return refuse('inactive')
      const claims = claimsIn(answer)
      if (!claims) throw usageError('the option verify answered with something else than claims')
      return opaqueToken(token, claims, policy, clock)
    } catch (cause) {
      return { refused: 'verify_unavailable', retryAfterSec: 1, cause }
    }
  }
}

/** The claims in an answer, frozen: a copy, because the app may keep its own. */
export function claimsIn(answer: object): Claims | undefined {
  const claims = readJsonObject(Buffer.from(JSON.stringify(answer)))
  return claims && withoutNull(claims)
}

/** An opaque token with the claims that an answer has, if they are valid now. */
export function opaqueToken(token: string, said: Claims, policy: ClaimPolicy, clock: Clock): VerifiedToken | Refusal {
  const claims = policy.timesAsText ? timesAsNumbers(said) : said
  const wrong = opaqueClaimProblem(claims, policy, clock.date() / 1_000)
  if (wrong) return claimRefusal(wrong, claims, policy)
  const { untilSec } = timesHold(claims, policy)
  return { token, issuer: policy.issuer, claims, header: undefined, untilSec, rules: policy.rules }
}

import type { Clock } from '../../http/clock'
import { usageError } from '../../http/help'
import { readJsonObject } from '../../http/json'
import { type ClaimPolicy, claimRefusal, opaqueClaimProblem, timesAsNumbers, withoutNull } from '../claims/claims'
import { type Refusal, refuse } from '../refusal/refusal'
import { type TokenVerifier, type VerifiedToken, WITHOUT_KEYS } from './token-verifier'

/**
 * Function that verifies a token. Returns its claims, or undefined or null if the token is invalid.
 *
 * @throws if the check is impossible now: the request gets 503
 */
export type VerifyToken = (token: string) => Promise<object | null | undefined> | object | null | undefined

/** Checks tokens with a function of the app, such as a lookup in a store. The claims it returns are checked as usual. */
export function customVerifier(verifyToken: VerifyToken, policy: ClaimPolicy, clock: Clock): TokenVerifier {
  return { verify, ...WITHOUT_KEYS }

  async function verify(token: string): Promise<VerifiedToken | Refusal> {
    try {
      const answer = await verifyToken(token)
      if (answer === null || answer === undefined) return refuse('inactive')
      const said = readJsonObject(Buffer.from(JSON.stringify(answer))) // a copy: the app may keep its own
      if (!said) throw usageError('the option verify answered with something else than claims')
      const claims = policy.timesAsText ? timesAsNumbers(withoutNull(said)) : withoutNull(said)
      const wrong = opaqueClaimProblem(claims, policy, clock.date() / 1_000)
      if (wrong) return claimRefusal(wrong, claims, policy)
      return { token, issuer: policy.issuer, claims, header: undefined, rules: policy.rules }
    } catch (cause) {
      return { refused: 'verify_unavailable', retryAfterSec: 1, cause }
    }
  }
}

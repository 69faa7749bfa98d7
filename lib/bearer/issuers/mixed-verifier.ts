import { type Refusal, isRefusal } from '../refusal/refusal'
import type { TokenVerifier, VerifiedToken } from './token-verifier'

/**
 * Checks tokens of issuers some of whose tokens are opaque: a JWT by its issuer's keys; what is no JWT, or is one of the
 * issuer that is asked, by introspection. A JWT of another issuer is never shown to it.
 *
 * @param introspectedIssuers the names of the issuer that is asked; its JWTs may be checked by keys too
 */
export function mixedVerifier(
  byKeys: TokenVerifier,
  introspected: TokenVerifier,
  introspectedIssuers: readonly string[],
): TokenVerifier {
  return {
    verify,
    ready: () => byKeys.ready(),
    reload: () => byKeys.reload(),
    keys: () => byKeys.keys(),
  }

  function verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    if (token.split('.', 4).length !== 3) return introspected.verify(token)
    const outcome = byKeys.verify(token)
    if (outcome instanceof Promise || !isRefusal(outcome) || outcome.refused !== 'issuer') return outcome
    const { issuer, received } = outcome.about ?? {}
    if (issuer !== undefined || !introspectedIssuers.includes(received as string)) return outcome
    return introspected.verify(token)
  }
}

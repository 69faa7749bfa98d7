import type { Refusal } from '../refusal/refusal'
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
    knows: (text) => byKeys.knows?.(text) ?? false,
    ready: () => byKeys.ready(),
    reload: () => byKeys.reload(),
    keys: () => byKeys.keys(),
  }

  function verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    if (token.split('.', 4).length !== 3) return introspected.verify(token)
    const outcome = byKeys.verify(token)
    const { refused, about } = outcome as Partial<Refusal> // one that comes later is of an issuer with keys
    const isAsked = refused === 'issuer' && introspectedIssuers.includes(about?.received as string)
    return isAsked ? introspected.verify(token) : outcome
  }
}

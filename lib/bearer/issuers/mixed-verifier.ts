import type { Refusal } from '../refusal/refusal'
import type { TokenVerifier, VerifiedToken } from './token-verifier'

/**
 * Checks tokens of several issuers, one of them with introspection. Opaque tokens and JWTs of that issuer are sent to its
 * endpoint. Other JWTs are checked with their issuer's keys and never sent there.
 *
 * @param introspectedIssuers names of the issuer with introspection; its JWTs may be checked with keys too
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

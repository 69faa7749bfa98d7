import type { BearerConfig } from './bearer-config'
import { findToken } from './credentials'
import { checkToken } from './issuer'
import { type Jws, readJws } from './jws'
import { type Refusal, isRefusal } from './refusal'
import { missingScope, scopeOf } from './scope'
import { type Session, type SessionIdentity, identify, isIdentity, makeSession } from './session'

/**
 * Answers who is asking, from a request's header fields alone: the token, its shape, its issuer's key, the signature,
 * the claims, whose session it is, the scope.
 *
 * @param rawHeaders names and values in turn
 */
export function authenticate(
  rawHeaders: readonly string[],
  config: BearerConfig,
): Session | Refusal | Promise<Session | Refusal> {
  const credentials = findToken(rawHeaders)
  if (isRefusal(credentials)) return credentials
  const jws = readJws(credentials.token)
  if (isRefusal(jws)) return jws
  const refusal = checkToken(jws, config.issuers, config.nowSec)
  if (refusal instanceof Promise) return refusal.then((refused) => refused ?? admit(jws, config))
  return refusal ?? admit(jws, config)
}

function admit(jws: Jws, config: BearerConfig): Session | Refusal {
  const identity = identityOf(jws, config)
  if (isRefusal(identity)) return identity
  const missing = missingScope(scopeOf(jws.claims), config.scope)
  if (missing.length > 0) return { refused: 'scope', scope: config.scope }
  return makeSession(jws.claims.iss as string, jws.claims, identity, jws.token)
}

function identityOf({ claims }: Jws, { session, mark }: BearerConfig): SessionIdentity | Refusal {
  if (!session) return identify(claims, mark)
  try {
    const identity: unknown = session(claims)
    if (isIdentity(identity)) return identity
    return { refused: 'session_kind', cause: new TypeError('the option session returned no session') }
  } catch (cause) {
    return { refused: 'session_kind', cause }
  }
}

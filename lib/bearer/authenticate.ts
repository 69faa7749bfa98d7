import type { BearerConfig } from './bearer-config'
import { type Credentials, fieldsOf, findToken } from './credentials'
import type { ProvenRequest } from './dpop/dpop-check'
import { type Refusal, isRefusal, refuse } from './refusal'
import { suffices } from './scope'
import { type Claims, type Session, type SessionIdentity, identify, isIdentity, makeSession } from './session'
import type { Proven } from './token-verifier'

/**
 * Answers who is asking, from a request's header fields alone: the token, its shape, its issuer's key, the signature,
 * the claims, whose session it is, the scope.
 *
 * @param rawHeaders names and values in turn
 * @param request tells of the request what a proof of possession is about
 */
export function authenticate(
  rawHeaders: readonly string[],
  request: () => ProvenRequest,
  config: BearerConfig,
): Session | Refusal | Promise<Session | Refusal> {
  const credentials = findToken(rawHeaders, config.dpop !== undefined)
  if (isRefusal(credentials)) return credentials
  const { scheme } = credentials
  const bind = (proven: Proven | Refusal) => {
    if (isRefusal(proven)) return proven
    return bindingRefused(proven, scheme, rawHeaders, request, config) ?? proven
  }
  const proven = config.verifier.verify(credentials.token)
  return proven instanceof Promise ? proven.then((late) => admit(bind(late), config)) : admit(bind(proven), config)
}

/** A token bound to a key is for who holds the key, and not for whoever bears it (RFC 7800, RFC 9449 §7.1). */
function bindingRefused(
  { token, claims }: Proven,
  scheme: Credentials['scheme'],
  rawHeaders: readonly string[],
  request: () => ProvenRequest,
  { dpop }: BearerConfig,
): Refusal | undefined {
  if (scheme === 'DPoP') return dpop?.refuse(fieldsOf(rawHeaders, 'dpop'), token, claims, request())
  if (claims.cnf !== undefined) return refuse('sender_constrained')
  return dpop?.required ? { refused: 'dpop_required', scheme: 'DPoP' } : undefined
}

function admit(proven: Proven | Refusal, config: BearerConfig): Session | Refusal {
  if (isRefusal(proven)) return proven
  const { claims, issuer, token } = proven
  const identity = identityOf(claims, config)
  if (isRefusal(identity)) return identity
  const refused = claimsRefused(claims, config)
  if (refused) return refused
  const session = makeSession(issuer, claims, identity, token)
  return revoked(session, config) ?? (suffices(session.scope, config.scope) ? session : short(config))
}

function revoked(session: Session, { revocation }: BearerConfig): Refusal | undefined {
  const state = revocation?.state(session) ?? 'valid'
  if (state === 'valid') return undefined
  if (state === 'revoked') return { refused: 'revoked' }
  return { refused: 'revocation_unavailable', retryAfterSec: 1, cause: state.behind }
}

function short({ scope }: BearerConfig): Refusal {
  return { refused: 'scope', scope: scope.scopes }
}

function identityOf(claims: Claims, { session, mark }: BearerConfig): SessionIdentity | Refusal {
  if (!session) return identify(claims, mark)
  try {
    const identity: unknown = session(claims)
    if (isIdentity(identity)) return identity
    return { refused: 'session_kind', cause: new TypeError('the option session returned no session') }
  } catch (cause) {
    return { refused: 'session_kind', cause }
  }
}

function claimsRefused(claims: Claims, { checkClaims }: BearerConfig): Refusal | undefined {
  try {
    return checkClaims && checkClaims(claims) !== true ? { refused: 'claim_check' } : undefined
  } catch (cause) {
    return { refused: 'claim_check', cause }
  }
}

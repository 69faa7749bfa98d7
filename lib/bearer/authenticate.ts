import type { Denial } from '../errors'
import { answeredAtOnce, isThenable, whenAnswered } from '../http/callback'
import { shown } from '../http/options'
import { clientNetwork } from '../http/request/client-network'
import { blockOf } from '../http/request/network'
import type { BearerConfig } from './bearer-config'
import { nonceFields } from './challenge'
import { formsOf } from './claims/claim-options'
import { bindingsOf, isAudience } from './claims/claims'
import { type Credentials, bearerToken } from './credentials/credentials'
import { type AppRequestView, findTokenIn } from './credentials/token-sources'
import { type Reason, type Refusal, isRefusal, refuse } from './refusal/refusal'
import { grantsScope } from './session/scope'
import {
  type Claims,
  type Session,
  type SessionIdentity,
  identityFromClaims,
  identityReturned,
  makeSession,
} from './session/session'
import type { VerifiedToken } from './issuers/token-verifier'

/** Facts of a token outside of a request. */
export interface CheckOptions {
  /** Audience that it must be for, beside that of `requireBearer()`. */
  readonly resource?: string | undefined
  /** IP address of its client. */
  readonly ip?: string | undefined
}

/** A request that is let in: its session, and header fields for the response. */
export interface Authenticated {
  readonly session: Session
  readonly headers: Denial['headers']
}

type Outcome = Authenticated | Refusal

const NO_FIELDS: Denial['headers'] = {}
/** Shared caches must not keep the response (RFC 6750 §2.3). With `Authorization` they know that (RFC 9111 §3.5). */
const PRIVATE: Denial['headers'] = { 'Cache-Control': 'private' }

/**
 * Authenticates a request, in this order: token, syntax, issuer's key, signature, claims, binding to a key, session,
 * revocation, scope, strength of the login.
 */
export function authenticate(request: AppRequestView, config: BearerConfig): Outcome | Promise<Outcome> {
  const { tokenFrom, dpop, maxTokenLength, verifier } = config
  const credentials = findTokenIn(tokenFrom, request, dpop !== undefined, maxTokenLength)
  if ('refused' in credentials) return credentials
  const verified = verifier.verify(credentials.token, request.request, credentials.isPadded)
  return isThenable(verified)
    ? verified.then((late) => admitRequest(late, credentials, request, config))
    : admitRequest(verified, credentials, request, config)
}

/**
 * Authenticates a token outside of a request, with or without `Bearer ` before it. Nobody proves to hold a key there, and
 * nothing says that a session without a user may come.
 */
export async function authenticateToken(
  given: unknown,
  { resource, ip }: CheckOptions,
  config: BearerConfig,
): Promise<Outcome> {
  if (given === undefined || given === null || given === '') return refuse('no_token')
  if (typeof given !== 'string') return refuse('malformed_credentials')
  const credentials = bearerToken(given.replace(/^bearer +/i, ''), 'own', config.maxTokenLength)
  if ('refused' in credentials) return credentials
  const verified = await config.verifier.verify(credentials.token, ip === undefined ? ip : { ip, headers: {} })
  if ('refused' in verified) return verified
  const { aud } = verified.claims
  if (resource !== undefined && !isAudience(aud, [formsOf(resource)])) {
    return { refused: 'audience', about: { issuer: verified.issuer, expected: resource, received: aud } }
  }
  const admitted = await admitPlain(verified, credentials, config)
  const isUserless = !isRefusal(admitted) && admitted.session.kind === 'unauthenticated'
  return isUserless ? refuse('unauthenticated_session') : admitted
}

function admitRequest(
  verified: VerifiedToken | Refusal,
  credentials: Credentials,
  request: AppRequestView,
  config: BearerConfig,
): Outcome | Promise<Outcome> {
  if ('refused' in verified) return verified
  const { dpop } = config
  if (!dpop || credentials.scheme !== 'DPoP') return admitPlain(verified, credentials, config)
  const proven = dpop.check(verified.token, verified.claims, request)
  if (isRefusal(proven)) return proven
  const admitted = admit(verified, config, proven.nonce === undefined ? NO_FIELDS : nonceFields(proven.nonce))
  return whenAnswered(admitted, (outcome) => {
    if (isRefusal(outcome)) return outcome
    const used = dpop.use(proven, ownerOf(outcome.session, request)) // last: a refused request leaves nothing behind
    return whenAnswered(used, (refused) => refused ?? outcome)
  })
}

/** Whom a used proof counts for. Anybody may have the session of an app without a user, so its block counts. */
function ownerOf({ issuer, kind, userId, clientId }: Session, { request }: AppRequestView): string {
  return kind === 'unauthenticated' ? blockOf(clientNetwork(request)) : `${kind} ${userId ?? clientId} ${issuer}`
}

/** A plain bearer token is bound to no key (RFC 7800, RFC 9449 §7.1). */
function admitPlain(
  verified: VerifiedToken,
  { placement }: Credentials,
  config: BearerConfig,
): Outcome | Promise<Outcome> {
  if (verified.claims.cnf !== undefined) return boundToOther(verified.claims, config.dpop !== undefined)
  if (config.dpop?.required) return refuse('dpop_required')
  return admit(verified, config, placement === 'query' || placement === 'own' ? PRIVATE : NO_FIELDS)
}

/** Refusal of a bound token, with the binding for the operator. DPoP proves only the key in `jkt`. */
function boundToOther(claims: Claims, isDpopTaken: boolean): Refusal {
  const bindings = bindingsOf(claims)
  const missing = isDpopTaken ? 'it came without a DPoP proof' : 'set the option dpop'
  const why = `the token is bound by cnf ${shown(bindings)}; ${bindings.includes('jkt') ? missing : 'only jkt is supported'}`
  return { refused: 'sender_constrained', cause: new Error(why) }
}

function admit(verified: VerifiedToken, config: BearerConfig, headers: Denial['headers']): Outcome | Promise<Outcome> {
  const { session: known, rules } = verified
  if (known && !config.revocation) return { session: known, headers }
  const session = known ?? readSession(verified, config)
  if ('refused' in session) return session
  if (!config.revocation) return admitSession(session, verified, config, headers)
  return whenAnswered(config.revocation.state(session, rules), (state) => {
    if (state === 'valid') return admitSession(session, verified, config, headers)
    if (state === 'revoked') return { refused: 'revoked' }
    const { unavailable: cause } = (state ?? {}) as { unavailable?: unknown }
    return { refused: 'revocation_unavailable', retryAfterSec: 1, cause }
  })
}

function admitSession(
  session: Session,
  verified: VerifiedToken,
  config: BearerConfig,
  headers: Denial['headers'],
): Outcome {
  if (verified.session) return { session, headers }
  const { rules } = verified
  const { scope } = session
  const isEnough = grantsScope(scope, config.scope) && !(rules.scopeRequired && scope.length === 0)
  if (!isEnough) return { refused: 'scope', scope: config.scope.scopes }
  if (config.acr.length > 0 && !session.acr?.some((one) => config.acr.includes(one))) {
    return { refused: 'authentication', authentication: { acr: config.acr, maxAgeSec: undefined } }
  }
  if (!rules.session && !rules.checkClaims) verified.session = session // what the app's functions say may change
  return { session, headers }
}

function readSession(verified: VerifiedToken, config: BearerConfig): Session | Refusal {
  const identity = identityOf(verified, config)
  if (isRefusal(identity)) return identity
  return claimsRefused(verified) ?? makeSession(verified, identity, (session) => config.signalOf(session, verified))
}

function identityOf(
  { claims, header, issuer, rules: { session } }: VerifiedToken,
  { mark }: BearerConfig,
): SessionIdentity | Refusal {
  if (!session) return identityFromClaims(claims, mark)
  const answer = answerOf('session', 'session_kind', issuer, () => session(claims, { header: header ?? {} }))
  if ('refused' in answer) return answer
  const returned = identityReturned(answer.value)
  return isRefusal(returned) ? { ...returned, about: { issuer } } : returned
}

function claimsRefused({ claims, header, issuer, rules: { checkClaims } }: VerifiedToken): Refusal | undefined {
  if (!checkClaims) return undefined
  const answer = answerOf('checkClaims', 'claim_check', issuer, () => checkClaims(claims, { header: header ?? {} }))
  if ('refused' in answer) return answer
  return answer.value === true ? undefined : refuse('claim_check')
}

/** Answer of a function of the app, or the refusal of a token for which it throws. */
function answerOf(option: string, refused: Reason, issuer: string, ask: () => unknown): { value: unknown } | Refusal {
  let value: unknown
  try {
    value = ask()
  } catch (cause) {
    return { refused, about: { issuer }, cause }
  }
  return { value: answeredAtOnce(option, value) }
}

import { hash } from 'node:crypto'
import type { Clock } from '../../http/clock'
import { type ClaimPolicy, claimRefusal, opaqueClaimProblem, timesAsNumbers, withoutNull } from '../claims/claims'
import { type FetchFunction, FetchProblem, fetchJson } from '../../http/fetch-json'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import { readJsonObject } from '../../http/json'
import type { Claims } from '../session/session'
import { type TokenVerifier, type VerifiedToken, WITHOUT_KEYS } from './token-verifier'

/** Introspection endpoint of the issuer (RFC 7662 §2), and credentials for it. */
export interface IntrospectionOptions {
  /** Address of the endpoint: https, or http on this machine. */
  readonly endpoint: string
  readonly clientId: string
  readonly clientSecret: string
  /**
   * Client authentication: `'basic'` puts the form-encoded id and secret into `Authorization` (RFC 6749 §2.3.1); `'post'`
   * puts `client_id` and `client_secret` into the body. Default `'basic'`.
   */
  readonly clientAuth?: 'basic' | 'post' | undefined
  /** Lifetime of a cached answer, at most until the token expires: whole seconds, 0 to 300. Default 10. */
  readonly cacheSec?: number | undefined
}

/** A cached answer. */
interface Answer {
  /** Undefined if the token is not active. */
  readonly claims: Claims | undefined
  readonly until: number
  /** Set if the endpoint failed for this token only. */
  readonly failure?: Refusal
}

const MOST_ANSWERS = 5_000
const TIMEOUT_MS = 5_000
const MAX_BYTES = 64 * 1_024
/** Pause between requests while the endpoint does not answer. */
const PAUSE_MS = 1_000
/** Token for which a healthy endpoint answers `active: false`. */
const PROBE_TOKEN = 'express-tollgate-probe'
/** Statuses for a single token: bad request, content too large, URI too long, unprocessable content. */
const REFUSES_TOKEN: ReadonlySet<number | undefined> = new Set([400, 413, 414, 422])

/**
 * Checks opaque tokens at their issuer's endpoint (RFC 7662). The answer must have `active: true`; its other members are
 * checked as claims. Answers are cached for a short time under the SHA-256 of the token. An endpoint that does not answer
 * is an outage, never an invalid token. After a failure a probe with a meaningless token follows. If that fails too, no
 * token is sent for 1 s.
 *
 * @param mostAnswers size of the cache; the oldest answer is removed first
 * @param fetch default: Node's own
 */
export function introspectionVerifier(
  options: IntrospectionOptions,
  policy: ClaimPolicy,
  clock: Clock,
  mostAnswers = MOST_ANSWERS,
  fetch?: FetchFunction,
): TokenVerifier {
  const { endpoint, clientId, clientSecret, clientAuth = 'basic', cacheSec = 10 } = options
  const credentials = [clientId, clientSecret].map(formEncoded) // RFC 6749 §2.3.1
  const basic = { authorization: `Basic ${Buffer.from(credentials.join(':')).toString('base64')}` }
  const posted = clientAuth === 'post' ? `&client_id=${credentials[0]}&client_secret=${credentials[1]}` : ''
  const answers = new Map<string, Answer>()
  const flights = new Map<string, Promise<Answer | Refusal>>()
  let retryAt = -Infinity
  let problem: unknown
  let probe: Promise<void> | undefined
  let healthyUntil = -Infinity

  return { verify, ...WITHOUT_KEYS }

  function verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    const name = hash('sha256', token)
    const known = answers.get(name)
    if (known && clock.now() < known.until) return known.failure ?? judge(known, token)
    answers.delete(name)
    if (clock.now() < retryAt) return unavailable()
    let flight = flights.get(name)
    if (!flight) flights.set(name, (flight = ask(token, name).finally(() => flights.delete(name))))
    return flight.then((answer) => (isRefusal(answer) ? answer : judge(answer, token)))
  }

  async function ask(token: string, name: string): Promise<Answer | Refusal> {
    try {
      const claims = await fetchClaims(token)
      const answer = { claims: claims.active ? claims : undefined, until: clock.now() + cacheSec * 1_000 }
      answered()
      remember(name, answer)
      return answer
    } catch (cause) {
      if (!(await isHealthy())) {
        problem = cause
        retryAt = clock.now() + PAUSE_MS
        return unavailable()
      }
      const failure = failureOf(cause, policy.issuer)
      remember(name, { claims: undefined, until: clock.now() + PAUSE_MS, failure })
      return failure
    }
  }

  async function fetchClaims(token: string): Promise<Claims> {
    const body = `token=${formEncoded(token)}&token_type_hint=access_token${posted}`
    const headers = { ...(posted === '' && basic), 'content-type': 'application/x-www-form-urlencoded' }
    const limits = { clock, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, fetch }
    const fetched = await fetchJson(endpoint, limits, { method: 'POST', headers, body })
    const said = readJsonObject(Buffer.from(JSON.stringify(fetched.body)))
    if (!said || typeof said.active !== 'boolean') throw new Error(`${endpoint} does not say whether it is active`)
    const claims = withoutNull(said)
    return policy.timesAsText ? timesAsNumbers(claims) : claims
  }

  /** Whether the endpoint works: it has just answered, or answers the probe. */
  async function isHealthy(): Promise<boolean> {
    if (clock.now() < healthyUntil) return true
    probe ??= fetchClaims(PROBE_TOKEN)
      .then(answered, () => {})
      .finally(() => (probe = undefined))
    await probe
    return clock.now() < healthyUntil
  }

  function answered(): void {
    healthyUntil = clock.now() + PAUSE_MS
  }

  function remember(name: string, answer: Answer): void {
    answers.set(name, answer)
    if (answers.size <= mostAnswers) return
    for (const oldest of answers.keys()) {
      answers.delete(oldest)
      return
    }
  }

  function judge({ claims }: Answer, token: string): VerifiedToken | Refusal {
    if (!claims) return refuse('inactive')
    const wrong = opaqueClaimProblem(claims, policy, clock.date() / 1_000)
    if (wrong) return claimRefusal(wrong, claims, policy)
    return { token, issuer: policy.issuer, claims, header: undefined, rules: policy.rules }
  }

  function unavailable(): Refusal {
    return unavailableFor(policy.issuer, problem)
  }
}

/** A healthy endpoint that refuses the request will refuse it again: the token is invalid. Other failures may pass. */
function failureOf(cause: unknown, issuer: string): Refusal {
  if (cause instanceof FetchProblem && REFUSES_TOKEN.has(cause.status)) return { refused: 'inactive', cause }
  return unavailableFor(issuer, cause)
}

function unavailableFor(issuer: string, cause: unknown): Refusal {
  return { refused: 'introspection_unavailable', retryAfterSec: PAUSE_MS / 1_000, about: { issuer }, cause }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

import { hash } from 'node:crypto'
import { type Clock, type Moment, momentOf, sinceMs } from '../../http/clock'
import { type FetchFunction, FetchProblem, fetchJson } from '../../http/fetch/fetch-json'
import { functionOption, isText, oneOf, option, readOptions, text, wholeNumber } from '../../http/option-table'
import { checkSecureUrl } from '../../http/fetch/secure-url'
import { OwnedRecords } from '../../http/owners'
import { clientNetwork } from '../../http/request/client-network'
import { blockOf } from '../../http/request/network'
import type { ClaimPolicy } from '../claims/claims'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import type { Claims } from '../session/session'
import type { KeyMaterial } from '../keys/key-options'
import { issuerCalls } from '../../http/fetch/issuer-calls'
import { type ClientCredentials, clientCredentials } from './client-credentials'
import { claimsIn, opaqueToken } from './opaque-tokens'
import type { VerifiedToken, Verify } from './token-verifier'

/** Introspection endpoint of the issuer (RFC 7662 §2), and credentials for it. */
export interface IntrospectionOptions extends ClientCredentials {
  /** Address of the endpoint: https, or http on this machine. */
  readonly endpoint: string
  /** Lifetime of a cached answer, at most until the token expires: whole seconds, 0 to 300. Default 10. */
  readonly cacheSec?: number | undefined
  /**
   * Memory for cached answers, in bytes: whole, 0 to 4,000,000,000. The block of addresses with the most loses its least
   * recently used answer first. Default 32,000,000.
   */
  readonly cacheBytes?: number | undefined
  /**
   * Calls at once: whole, 2 to 10,000, of which one block of addresses has half. Others wait up to 5 s. Default 256.
   */
  readonly maxCalls?: number | undefined
}

const TABLE = {
  endpoint: option<string>('an https URL', isText),
  clientId: text(),
  clientSecret: text(),
  clientAuth: oneOf<'basic' | 'post' | 'none'>(['basic', 'post', 'none']),
  privateKey: option<KeyMaterial>('a private key', (value) => isText(value) || typeof value === 'object'),
  clientAssertion: functionOption<() => string | Promise<string>>(),
  token: functionOption<() => string | Promise<string>>(),
  cacheSec: wholeNumber(0, 300, 10),
  cacheBytes: wholeNumber(0, 4_000_000_000, 32_000_000),
  maxCalls: wholeNumber(2, 10_000, 256),
}

/** A cached answer. */
interface Answer {
  /** Undefined if the token is not active. */
  readonly claims: Claims | undefined
  readonly at: Moment
  readonly lifeMs: number
  /** Set if the endpoint failed for this token only. */
  readonly failure?: Refusal
}

/** Memory of an answer beside its claims, in bytes. */
const ANSWER_BYTES = 300
const LIMITS = { timeoutMs: 5_000, maxBytes: 64 * 1_024 }
/** Pause between requests while the endpoint does not answer. */
const PAUSE_MS = 1_000
/** Token for which a healthy endpoint answers `active: false`. */
const PROBE_TOKEN = 'express-tollgate-probe'
/** Statuses for a single token: bad request, content too large, URI too long, unprocessable content. */
const REFUSES_TOKEN: ReadonlySet<number | undefined> = new Set([400, 413, 414, 422])

/** What introspection needs to know of its issuer. */
export interface Introspected {
  readonly policy: ClaimPolicy
  readonly clock: Clock
  readonly allowHttp: boolean
  /** Default: Node's own. */
  readonly fetch?: FetchFunction | undefined
}

/**
 * Checks opaque tokens at their issuer's endpoint (RFC 7662). The answer must have `active: true`; its other members are
 * checked as claims. Answers are cached for a short time under the SHA-256 of the token. An endpoint that does not answer
 * is an outage, never an invalid token. After a failure a probe with a meaningless token follows. If that fails too, no
 * token is sent for 1 s. A bounded number of tokens is sent at once.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function introspecting(options: IntrospectionOptions, issuer: Introspected): Verify {
  const { endpoint, cacheSec, cacheBytes, maxCalls, ...rest } = readOptions('introspection', options, TABLE)
  const { policy, clock, allowHttp, fetch } = issuer
  checkSecureUrl('introspection.endpoint', endpoint, allowHttp)
  const credentials = clientCredentials(rest, policy.issuer, clock)
  const calls = issuerCalls(clock, maxCalls, LIMITS.timeoutMs)
  const answers = new OwnedRecords<Answer>(cacheBytes)
  let retryAt = -Infinity
  let problem: unknown
  let probe: Promise<void> | undefined
  let healthyUntil = -Infinity

  return function verify(token, from) {
    const name = hash('sha256', token)
    const known = answers.get(name)
    if (known && sinceMs(clock, known.at) < known.lifeMs) return judge(known, token)
    answers.delete(name)
    if (clock.now() < retryAt) return unavailable(problem)
    const network = clientNetwork(from)
    return calls
      .run(network, () => ask(token, name, blockOf(network)), name)
      .then((answer = unavailable(TOO_MANY)) => (isRefusal(answer) ? answer : judge(answer, token)))
  }

  async function ask(token: string, name: string, block: string): Promise<Answer | Refusal> {
    try {
      const claims = await fetchClaims(token).catch((problem: unknown) => {
        if (isClosed(problem)) return fetchClaims(token)
        throw problem
      })
      healthyUntil = clock.now() + PAUSE_MS
      return remember(name, block, { claims: claims.active ? claims : undefined, lifeMs: cacheSec * 1_000 })
    } catch (cause) {
      if (!(await isHealthy())) {
        problem = cause
        retryAt = clock.now() + PAUSE_MS
        return unavailable(cause)
      }
      // A healthy endpoint that refuses the request will refuse it again: the token is invalid. Other failures may pass.
      const isRefused = cause instanceof FetchProblem && REFUSES_TOKEN.has(cause.status)
      const failure: Refusal = isRefused ? { refused: 'inactive', cause } : unavailable(cause)
      return remember(name, block, { claims: undefined, lifeMs: PAUSE_MS, failure })
    }
  }

  async function fetchClaims(token: string): Promise<Claims> {
    const { headers, form } = await credentials()
    const members = Object.entries({ token, token_type_hint: 'access_token', ...form })
    const body = new URLSearchParams(members.filter((member): member is [string, string] => member[1] !== undefined))
    const fields = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
    const fetched = await fetchJson(
      endpoint as string,
      { ...LIMITS, clock, fetch },
      { method: 'POST', headers: fields, body: body.toString() },
    )
    const claims = claimsIn(fetched.body)
    if (typeof claims?.active === 'boolean') return claims
    throw new Error(`${endpoint} does not say whether it is active`)
  }

  /** Whether the endpoint works: it has just answered, or answers the probe. */
  async function isHealthy(): Promise<boolean> {
    if (clock.now() < healthyUntil) return true
    probe ??= fetchClaims(PROBE_TOKEN)
      .then(() => void (healthyUntil = clock.now() + PAUSE_MS))
      .catch(() => undefined)
      .finally(() => (probe = undefined))
    await probe
    return clock.now() < healthyUntil
  }

  function remember(name: string, block: string, said: Omit<Answer, 'at'>): Answer {
    const answer = { ...said, at: momentOf(clock) }
    answers.set(name, answer, block, ANSWER_BYTES + JSON.stringify(answer.claims ?? '').length)
    return answer
  }

  function judge({ claims, failure }: Answer, token: string): VerifiedToken | Refusal {
    if (failure) return failure
    return claims ? opaqueToken(token, claims, policy, clock) : refuse('inactive')
  }

  function unavailable(cause: unknown): Refusal {
    const about = { issuer: policy.issuer }
    return { refused: 'introspection_unavailable', retryAfterSec: PAUSE_MS / 1_000, about, cause }
  }
}

/** Whether the server has closed a connection that was kept alive, in the moment in which it was used again. */
function isClosed(problem: unknown): boolean {
  if (!(problem instanceof FetchProblem) || problem.status !== undefined) return false
  const { code, cause } = (problem.cause ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(String(cause?.code ?? code))
}

const TOO_MANY = new FetchProblem('more tokens are unknown than the issuer is asked about at once')

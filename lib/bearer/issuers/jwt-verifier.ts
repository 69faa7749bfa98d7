import type { Clock } from '../../http/clock'
import { codedError } from '../../http/help'
import {
  type ClaimPolicy,
  TYPES,
  claimProblem,
  claimRefusal,
  timesAsNumbers,
  timesHold,
  withoutNull,
} from '../claims/claims'
import { readJws } from '../credentials/jws'
import type { KeySource } from '../keys/key-source'
import { isSignedWith } from '../keys/signature'
import type { VerifyKey } from '../keys/verify-key'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import type { KnownToken, KnownTokens, PresentedToken } from './known-tokens'
import type { IssuerKey, TokenVerifier, VerifiedToken } from './token-verifier'

/** An issuer whose tokens are accepted: its keys, and the rules for its claims. */
export interface TrustedIssuer {
  readonly policy: ClaimPolicy
  readonly keys: IssuerKeys
}

/** The keys of an issuer: one set, or one for each of its tenants. */
export interface IssuerKeys {
  /** Keys for the tokens of a tenant; `tenant` is undefined if the issuer has none. */
  of(tenant: string | undefined): KeySource
  /** All key sets so far. */
  known(): readonly NamedKeys[]
}

/** A key set with the name of its issuer: `https://login.example.org/acme`. */
export interface NamedKeys {
  readonly issuer: string
  readonly keys: KeySource
}

/** The issuers whose tokens are accepted. */
export class TrustedIssuers {
  readonly #byName = new Map<string, TrustedIssuer>()
  readonly #ofTenants: TrustedIssuer[] = []

  /** @returns false if another issuer has that name */
  add(issuer: TrustedIssuer): boolean {
    const names = issuer.policy.issuers.map(issuerName)
    if (names.some((name) => this.#byName.has(name))) return false
    for (const name of names) this.#byName.set(name, issuer)
    if (issuer.policy.tenants) this.#ofTenants.push(issuer)
    return true
  }

  /** The issuer that a token names. A slash at the end is ignored here; the claim is compared later. */
  find(iss: unknown): { readonly issuer: TrustedIssuer; readonly tenant: string | undefined } | undefined {
    if (typeof iss !== 'string') return undefined
    const named = this.#byName.get(issuerName(iss))
    if (named && !named.policy.tenants) return { issuer: named, tenant: undefined }
    for (const issuer of this.#ofTenants) {
      const tenant = issuer.policy.tenants?.tenantOf(iss)
      if (tenant !== undefined) return { issuer, tenant }
    }
    return undefined
  }

  all(): readonly TrustedIssuer[] {
    return [...new Set(this.#byName.values())]
  }
}

function issuerName(iss: string): string {
  return iss.replace(/\/$/, '')
}

/**
 * Checks signed JWTs in this order: syntax, issuer, issuer's key, signature, claims. A token is never checked with
 * another issuer's key. For a token verified earlier, only the key and the times are checked again: nothing else can
 * have changed.
 */
export function jwtVerifier(issuers: TrustedIssuers, tokens: KnownTokens, clock: Clock): TokenVerifier {
  return { verify, knows: (text) => tokens.get(text) !== undefined, ready, reload, keys }

  function verify(token: string): VerifiedToken | Refusal | Promise<VerifiedToken | Refusal> {
    const known = tokens.get(token)
    const presented = known ?? present(token)
    if ('refused' in presented) return presented
    const { jws, keys } = presented
    const key = known && keys.isFixed ? known.key : keys.find(jws.kid, jws.algorithm)
    if (key instanceof Promise) return key.then((found) => check(presented, found, known))
    return check(presented, key, known)
  }

  function present(token: string): PresentedToken | Refusal {
    const read = readJws(token)
    if (isRefusal(read)) return read
    const jws = { ...read, claims: withoutNull(read.claims) }
    const from = issuers.find(jws.claims.iss)
    if (!from) return TYPES.includes(jws.type) ? untrusted(jws.claims.iss) : refuse('token_type')
    const { issuer, tenant } = from
    return { jws, policy: issuer.policy, keys: issuer.keys.of(tenant), tenant }
  }

  function check(
    { jws, policy, keys, tenant }: PresentedToken,
    key: VerifyKey | Refusal,
    known: KnownToken | undefined,
  ): VerifiedToken | Refusal {
    const nowSec = clock.date() / 1_000
    const isSameKey = known !== undefined && key === known.key
    const { issuer, typ } = keys
    if (isSameKey && issuer === known.issuer && typ === known.typ && nowSec >= known.fromSec && nowSec < known.untilSec)
      return known.verified
    if (isRefusal(key)) return { ...key, about: { issuer: policy.issuer } }
    const iss = jws.claims.iss as string
    if (key.issuer !== undefined && !isFor(key.issuer, iss, tenant)) return refuse('unknown_key')
    if (!isSameKey && !isSignedWith(jws.token, jws.algorithm, key)) return refuse('signature')
    if (typ && jws.type !== typ) return refuse('token_type')
    const claims = policy.timesAsText ? timesAsNumbers(jws.claims) : jws.claims
    const names =
      tenant === undefined ? policy.issuers : [(policy.tenants as { issuerOf(of: string): string }).issuerOf(tenant)]
    const accepted = issuer === undefined || names.length > 1 ? names : [issuer]
    const problem = claimProblem({ ...jws, claims }, policy, accepted, nowSec)
    if (problem) return claimRefusal(problem, claims, policy)
    const verified = { token: jws.token, issuer: iss, claims, header: jws.header, rules: policy.rules }
    tokens.add({ jws, policy, keys, tenant, key, issuer, typ, ...timesHold(claims, policy), verified })
    return verified
  }

  async function ready(): Promise<void> {
    await Promise.all(known().map(({ issuer, keys }) => keys.ready().catch(named(issuer))))
  }

  async function reload(): Promise<void> {
    await Promise.all(known().map(({ issuer, keys }) => keys.reload().catch(named(issuer))))
  }

  function keys(): readonly IssuerKey[] {
    return known().flatMap(({ issuer, keys }) => keys.all().map(({ kid, algorithms }) => ({ issuer, kid, algorithms })))
  }

  function known(): readonly NamedKeys[] {
    return issuers.all().flatMap((issuer) => issuer.keys.known())
  }

  function untrusted(received: unknown): Refusal {
    return { refused: 'issuer', about: { expected: issuers.all().map(({ policy }) => policy.issuer), received } }
  }
}

/** Adds the name of the issuer to the message. */
function named(issuer: string): (problem: unknown) => never {
  return (problem) => {
    const { message, cause } = problem as Error
    throw codedError('TOLLGATE_ISSUER', message.replace('the issuer', `the issuer ${issuer}`), Error, { cause })
  }
}

/** Whether a key is for an issuer. Microsoft's JWKs have a member `issuer`, in which `{tenantid}` means any tenant. */
function isFor(keyIssuer: string, iss: string, tenant: string | undefined): boolean {
  const [before, after] = keyIssuer.split('{tenantid}') as [string, string?]
  if (after === undefined) return keyIssuer === iss
  return tenant === undefined ? iss.startsWith(before) && iss.endsWith(after) : iss === before + tenant + after
}

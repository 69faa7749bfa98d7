import type { Clock } from '../../http/clock'
import { isThenable } from '../../http/callback'
import { RemediedProblem } from '../../http/fetch/fetch-failure'
import { codedError } from '../../http/help'
import type { ClientRequest } from '../../http/request/client-network'
import { TYPES, claimProblem, claimRefusal, issuerName, timesAsNumbers, timesHold, withoutNull } from '../claims/claims'
import { isToken } from '../credentials/credentials'
import { isJws, readJws } from '../credentials/jws'
import { type FoundKeys, MOST_TRIED } from '../keys/key-source'
import { isSignedWith } from '../keys/signature'
import type { VerifyKey } from '../keys/verify-key'
import { type Refusal, isRefusal, refuse } from '../refusal/refusal'
import type { IssuerLookup } from './issuer-lookup'
import type { KnownToken, KnownTokens, PresentedToken } from './known-tokens'
import type { OpaqueIssuer } from './opaque-tokens'
import type { NamedKeys } from './tenant-keys'
import type { KeyControl, TokenVerifier, VerifiedToken } from './token-verifier'
import type { TrustedIssuer } from './trusted-issuer'

type Verified = VerifiedToken | Refusal

/** The issuers whose tokens are accepted. */
export class TrustedIssuers {
  readonly #byName = new Map<string, TrustedIssuer>()
  readonly #ofTenants: TrustedIssuer[] = []

  /** @param lookup issuers that a function of the app knows */
  constructor(readonly lookup?: IssuerLookup) {}

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
    const asked = this.lookup?.get(iss)
    return asked && { issuer: asked, tenant: undefined }
  }

  all(): readonly TrustedIssuer[] {
    return [...new Set(this.#byName.values())]
  }
}

/**
 * Checks tokens. A JWT is checked in this order: syntax, issuer, tenant, issuer's key, signature, claims. It is never
 * checked with another issuer's key. For a token verified earlier, only the tenant, the key and the times are checked
 * again: nothing else can have changed. Opaque tokens, and JWTs of the issuer that is asked about its tokens, are sent to
 * that issuer, and no others are.
 *
 * @param opaque the issuer that is asked about its tokens, if there is one
 */
export function tokenVerifier(
  issuers: TrustedIssuers,
  opaque: OpaqueIssuer | undefined,
  tokens: KnownTokens,
  clock: Clock,
): TokenVerifier {
  const hasKeys = issuers.lookup !== undefined || issuers.all().length > 0
  return { verify, ready, reload, keys }

  function verify(token: string, from?: ClientRequest, isPadded = false): Verified | Promise<Verified> {
    const known = isPadded || !token.includes('=') ? tokens.get(token) : undefined // as strict as for an unknown token
    const isTrusted = !issuers.lookup || (known && issuers.lookup.get(known.jws.claims.iss as string) === known.issuer)
    if (known && isTrusted) return checkTenant(known, from, known)
    if (!isToken(token, isPadded)) return refuse('malformed_credentials')
    if (opaque && (!hasKeys || !isJws(token))) return opaque.verify(token, from)
    const presented = present(token, isPadded)
    if (!isRefusal(presented)) return checkTenant(presented, from)
    const iss = presented.about?.received
    if (issuers.lookup && presented.refused === 'issuer' && typeof iss === 'string') {
      return issuers.lookup.ask(iss, from).then((asked) => {
        if (asked && 'refused' in asked) return asked
        const again = asked ? present(token, isPadded) : presented
        return isRefusal(again) ? again : checkTenant(again, from)
      })
    }
    const isAsked =
      presented.refused === 'issuer' && opaque?.policy.issuers.includes(presented.about?.received as string)
    return isAsked ? (opaque as OpaqueIssuer).verify(token, from) : presented
  }

  function present(token: string, isPadded: boolean): PresentedToken | Refusal {
    const read = readJws(token, isPadded)
    if (isRefusal(read)) return read
    const jws = { ...read, claims: withoutNull(read.claims) }
    const { iss } = jws.claims
    const from = issuers.find(iss)
    if (from) return { ...from, jws, keys: from.issuer.keys.of(from.tenant) }
    if (!TYPES.includes(jws.type)) return refuse('token_type')
    return { refused: 'issuer', about: { expected: issuers.all().map(({ policy }) => policy.issuer), received: iss } }
  }

  /** The app's function is asked for every request: it may stop accepting a tenant. */
  function checkTenant(
    presented: PresentedToken,
    from: ClientRequest | undefined,
    known?: KnownToken,
  ): Verified | Promise<Verified> {
    const { tenants, issuer } = presented.issuer.policy
    if (!tenants?.accepts) return checkKey(presented, from, known)
    const judge = (accepted: boolean) => (accepted === true ? checkKey(presented, from, known) : notAccepted(presented))
    const failed = (cause: unknown): Refusal => ({
      refused: 'tenants_unavailable',
      retryAfterSec: 1,
      about: { issuer },
      cause,
    })
    try {
      const accepted = tenants.accepts(presented.tenant as string)
      return isThenable(accepted) ? Promise.resolve(accepted).then(judge, failed) : judge(accepted)
    } catch (cause) {
      return failed(cause)
    }
  }

  function notAccepted({ jws, issuer }: PresentedToken): Refusal {
    const { issuer: expected } = issuer.policy
    return { refused: 'issuer', about: { issuer: expected, expected: [expected], received: jws.claims.iss } }
  }

  function checkKey(
    presented: PresentedToken,
    from: ClientRequest | undefined,
    known: KnownToken | undefined,
  ): Verified | Promise<Verified> {
    const { keys, jws } = presented
    if (known && isStillValid(known)) return known.verified
    if (known && keys.has(known.key)) return checkClaims(presented, known.key)
    const found = keys.find(jws, from)
    return isThenable(found)
      ? found.then((late) => checkSignature(presented, late, from, true))
      : checkSignature(presented, found, from)
  }

  function isStillValid({ keys, key, metadata, fromSec, verified: { untilSec } }: KnownToken): boolean {
    const nowSec = clock.date() / 1_000
    const isSame = keys.issuer === metadata.issuer && keys.typ === metadata.typ
    return isSame && nowSec >= fromSec && nowSec < untilSec && keys.has(key)
  }

  /** @param isLatest whether these keys were fetched for this token */
  function checkSignature(
    presented: PresentedToken,
    found: FoundKeys,
    from: ClientRequest | undefined,
    isLatest = false,
  ): Verified | Promise<Verified> {
    const { jws, issuer, keys } = presented
    if (isRefusal(found)) return { ...found, about: { issuer: issuer.policy.issuer } }
    const own = found.filter((key) => isFor(key, presented))
    if (own.length === 0) return refuse('unknown_key')
    const key = own.find((one) => isSignedWith(jws.token, jws.algorithm, one))
    if (key) return checkClaims(presented, key)
    const refused = notSigned(presented, found)
    if (isLatest) return refused
    const other = keys.findOther(jws, found, from)
    return isThenable(other)
      ? other.then((late) => (late ? checkSignature(presented, late, from, true) : refused))
      : refused
  }

  function checkClaims(presented: PresentedToken, key: VerifyKey): Verified {
    const { jws, issuer, keys, tenant } = presented
    const { policy } = issuer
    if (keys.typ && jws.type !== keys.typ) return refuse('token_type')
    const claims = policy.timesAsText ? timesAsNumbers(jws.claims) : jws.claims
    const problem = claimProblem({ ...jws, claims }, policy, namesOf(presented), tenant, clock.date() / 1_000)
    if (problem) return claimRefusal(problem, claims, policy)
    // Of several names the first, so that a user has one budget and one revocation.
    const name = policy.issuers.length > 1 ? policy.issuer : (claims.iss as string)
    const { fromSec, untilSec } = timesHold(claims, policy)
    const verified = { token: jws.token, issuer: name, claims, header: jws.header, untilSec, rules: policy.rules }
    const metadata = { issuer: keys.issuer, typ: keys.typ }
    tokens.add({ ...presented, key, metadata, fromSec, verified })
    return verified
  }

  async function ready(): Promise<void> {
    await Promise.all(known().map(({ issuer, keys }) => keys.ready().catch(named(issuer))))
  }

  async function reload(iss?: string): Promise<void> {
    if (iss !== undefined) issuers.lookup?.forget(iss)
    const those = known().filter(({ issuer }) => iss === undefined || issuerName(issuer) === issuerName(iss))
    await Promise.all(those.map(({ issuer, keys }) => keys.reload().catch(named(issuer))))
  }

  function keys(): ReturnType<KeyControl['keys']> {
    return known().flatMap(({ issuer, keys }) => keys.all().map(({ kid, algorithms }) => ({ issuer, kid, algorithms })))
  }

  function known(): readonly NamedKeys[] {
    return issuers.all().flatMap((issuer) => issuer.keys.known())
  }
}

/** Adds the name of the issuer to the message. */
function named(issuer: string): (problem: unknown) => never {
  return (problem) => {
    const { message, cause } = problem as Error
    throw codedError('TOLLGATE_ISSUER', message.replace('the issuer', `the issuer ${issuer}`), Error, { cause })
  }
}

function notSigned({ jws }: PresentedToken, { length }: readonly VerifyKey[]): Refusal {
  if (jws.kid !== undefined || length < MOST_TRIED) return refuse('signature')
  const why = `it names no key by kid or x5t, and only ${MOST_TRIED} of the issuer's are tried`
  return { refused: 'unknown_key', cause: new RemediedProblem(why, 'have the issuer set kid, or name the key: key') }
}

/** Values of `iss` that are accepted: the name in the metadata, else those of the options. */
function namesOf({ issuer: { policy }, keys, tenant }: PresentedToken): readonly string[] {
  if (keys.issuer !== undefined && policy.issuers.length === 1) return [keys.issuer]
  return policy.tenants && tenant !== undefined ? [policy.tenants.of(policy.issuer, tenant)] : policy.issuers
}

const TENANT_ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i

/**
 * Whether a key is for the issuer of a token. Microsoft's JWKs have a member `issuer`, in which `{tenantid}` is any
 * tenant. They name the issuer as tokens of version 2 do, and are for version 1 of the same tenant, too.
 */
function isFor({ issuer: named }: VerifyKey, { jws, issuer: { policy, keyIssuers }, tenant }: PresentedToken): boolean {
  if (named === undefined) return true
  const iss = jws.claims.iss as string
  const [before, after] = named.split('{tenantid}') as [string, string?]
  const others = keyIssuers.map((name) => (tenant === undefined ? name : (policy.tenants?.of(name, tenant) ?? name)))
  const id = TENANT_ID.exec(iss)?.[0]
  const ofTenant = others.filter((name) => name === iss || (id !== undefined && name.includes(id)))
  return ofTenant.some((name) => {
    if (after === undefined) return name === named
    return tenant === undefined ? name.startsWith(before) && name.endsWith(after) : name === before + tenant + after
  })
}

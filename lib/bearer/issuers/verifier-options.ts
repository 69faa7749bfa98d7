import type { Clock } from '../../http/clock'
import type { FetchFunction } from '../../http/fetch/fetch-json'
import { optionError } from '../../http/help'
import { checkedLater, functionOption, readOptions, wholeNumber } from '../../http/option-table'
import type { OptionValues } from '../../http/option-table'
import { shown } from '../../http/options'
import {
  type Audience,
  type IssuerDefaults,
  TOKEN_TABLE,
  type TokenOptions,
  both,
  claimPolicy,
} from '../claims/claim-options'
import type { CheckClaims, ReadSession } from '../session/session'
import { type IntrospectionOptions, introspecting } from './introspection'
import { TrustedIssuers, tokenVerifier } from './jwt-verifier'
import { KnownTokens } from './known-tokens'
import { type OpaqueIssuer, type VerifyToken, verifyingByApp } from './opaque-tokens'
import type { TokenVerifier } from './token-verifier'
import { type IssuerOptions, JwkSets, KEY_TABLE, trustedIssuer } from './trusted-issuer'

/** Check of opaque tokens, in place of keys. */
export type OpaqueOptions =
  | {
      /** Asks the issuer about each token (RFC 7662). */
      readonly introspection: IntrospectionOptions
      readonly verify?: undefined
    }
  | {
      /** Function of the app that returns the token's claims, or undefined for an invalid token. If it throws: 503. */
      readonly verify: VerifyToken
      readonly introspection?: undefined
    }

type KeyOption = 'key' | 'keys' | 'secret' | 'jwksUri'

/** One issuer of several, whose tokens are opaque and checked by introspection (RFC 7662). */
export type IntrospectedIssuerOptions = TokenOptions & {
  readonly introspection: IntrospectionOptions
} & { readonly [name in KeyOption]?: undefined }

/** One issuer, or several: each with its own keys, algorithms and rules. */
export type IssuersOptions =
  | (IssuerOptions & { readonly issuers?: undefined; readonly introspection?: undefined; readonly verify?: undefined })
  | (TokenOptions & OpaqueOptions & { readonly [name in KeyOption | 'issuers']?: undefined })
  | ({
      /**
       * Issuers whose tokens are accepted. No token is checked with another issuer's key. One issuer may have
       * `introspection` in place of keys: opaque tokens, and JWTs that name it, are sent to its endpoint.
       */
      readonly issuers: readonly (IssuerOptions | IntrospectedIssuerOptions)[]
      /** Audience for issuers without an `audience` of their own. Default: the environment's `AUDIENCE`. */
      readonly audience?: Audience | undefined
      /** Check of all issuers' claims, in addition to each issuer's own `checkClaims`. */
      readonly checkClaims?: CheckClaims | undefined
      /** Default `session` for issuers without their own. */
      readonly session?: ReadSession | undefined
      /** Default `fetch` for issuers without their own. Default: Node's `fetch`. */
      readonly fetch?: FetchFunction | undefined
      readonly issuer?: undefined
      readonly introspection?: undefined
      readonly verify?: undefined
    } & { readonly [name in KeyOption]?: undefined })

/** Cache of verified tokens. */
export interface CacheOptions {
  /**
   * Cache of verified tokens: `{ maxTokens }`, 1 to 1,000,000, default 5,000; false: none. Expiry, key, revocation,
   * `session` and `checkClaims` are checked for every request.
   */
  readonly cache?: { readonly maxTokens: number } | false | undefined
}

const ISSUER_TABLE = { ...TOKEN_TABLE, ...KEY_TABLE }
const ENTRY_TABLE = { ...ISSUER_TABLE, introspection: checkedLater<IntrospectionOptions>() }

/** The options that say how tokens are verified. */
export const VERIFIER_TABLE = {
  ...ENTRY_TABLE,
  issuers: checkedLater<readonly (IssuerOptions | IntrospectedIssuerOptions)[]>(),
  verify: functionOption<VerifyToken>(),
  cache: checkedLater<{ readonly maxTokens: number } | false>(),
}

type VerifierValues = OptionValues<typeof VERIFIER_TABLE>
type EntryValues = OptionValues<typeof ENTRY_TABLE>

/** Options beside `issuers` that apply to all of them. */
const FOR_ALL_ISSUERS: ReadonlySet<string> = new Set(['audience', 'session', 'checkClaims', 'fetch'])
/** Options that say nothing where the issuer is asked about each token. */
const FOR_KEYS = [...Object.keys(KEY_TABLE), 'issuers', 'typ', 'tenants']
const ONCE = 'give all of its keys in one entry; secret and jwksUri may stand together'
const CACHE_TABLE = { maxTokens: wholeNumber(1, 1_000_000, 5_000) }

interface Verifying {
  readonly verifier: TokenVerifier
  /** The largest tolerance of all issuers. */
  readonly clockToleranceSec: number
  /** Whether an issuer has `scopeFrom` or `session`, so that a scope may be any text. */
  readonly takesRoles: boolean
}

/**
 * Makes the verifier of tokens: keys of one issuer or several, introspection, or a function of the app.
 *
 * @param given options as they were given
 * @throws {TypeError|RangeError} naming the option
 */
export function verifying(values: VerifierValues, given: object, defaults: IssuerDefaults, clock: Clock): Verifying {
  const { cache = {} } = values
  const tokens = new KnownTokens(cache === false ? 0 : readOptions('cache', cache, CACHE_TABLE).maxTokens)
  const isOne = values.issuers === undefined || values.introspection !== undefined || values.verify !== undefined
  const { issuers, opaque } = (isOne ? oneIssuer : severalIssuers)(values, given, defaults, clock)
  const policies = [...issuers.all(), ...(opaque ? [opaque] : [])].map(({ policy }) => policy)
  return {
    verifier: tokenVerifier(issuers, opaque, tokens, clock),
    clockToleranceSec: Math.max(...policies.map((policy) => policy.clockToleranceSec)),
    takesRoles: policies.some(({ rules }) => rules.scopeFrom !== undefined || rules.session !== undefined),
  }
}

/** Issuers with keys, and the one with introspection. */
interface Trusted {
  readonly issuers: TrustedIssuers
  readonly opaque: OpaqueIssuer | undefined
}

function oneIssuer(values: VerifierValues, given: object, defaults: IssuerDefaults, clock: Clock): Trusted {
  const issuers = new TrustedIssuers()
  const { introspection, verify } = values
  if (introspection !== undefined) {
    without(given, 'introspection', [...FOR_KEYS, 'cache', 'verify'])
    return { issuers, opaque: introspected(values, introspection, defaults, clock) }
  }
  if (verify !== undefined) {
    without(given, 'verify', [...FOR_KEYS, 'cache'])
    const policy = claimPolicy(values, defaults, 'verify')
    return { issuers, opaque: { policy, verify: verifyingByApp(verify, policy, clock) } }
  }
  issuers.add(trustedIssuer(values, defaults, clock))
  return { issuers, opaque: undefined }
}

function severalIssuers(values: VerifierValues, given: object, defaults: IssuerDefaults, clock: Clock): Trusted {
  without(
    given,
    'issuers',
    [...Object.keys(ENTRY_TABLE), 'verify'].filter((name) => !FOR_ALL_ISSUERS.has(name)),
  )
  const list: unknown = values.issuers
  if (!Array.isArray(list) || list.length === 0) throw optionError('issuers must be a list of one issuer or more')
  const { session, fetch, checkClaims, audience = defaults.audience } = values
  const entries = (list as object[]).map((one, i): EntryValues => {
    const read = readOptions(`issuers[${i}]`, one, ENTRY_TABLE)
    return {
      ...read,
      session: read.session ?? session,
      fetch: read.fetch ?? fetch,
      checkClaims: both(checkClaims, read.checkClaims),
    }
  })
  const ofEach = { isResource: defaults.isResource, audience }
  const issuers = new TrustedIssuers()
  const sets = new JwkSets()
  let opaque: OpaqueIssuer | undefined
  for (const [i, entry] of entries.entries()) {
    const { introspection, jwksUri } = entry
    inIssuer(i, () => {
      if (introspection === undefined) {
        const sharing = entries.filter((one) => jwksUri !== undefined && one.jwksUri === jwksUri)
        const names = sharing.flatMap(({ issuer = [] }) => issuer)
        const issuer = trustedIssuer(entry, ofEach, clock, sets, names)
        if (!issuers.add(issuer)) throw optionError(`issuers has ${shown(issuer.policy.issuer)} twice: ${ONCE}`)
      } else {
        if (opaque) throw optionError('issuers may have introspection once: no issuer is shown the tokens of another')
        without(list[i] as object, 'introspection', FOR_KEYS)
        opaque = introspected(entry, introspection, ofEach, clock)
      }
    })
  }
  return { issuers, opaque }
}

function introspected(
  values: EntryValues,
  options: IntrospectionOptions,
  defaults: IssuerDefaults,
  clock: Clock,
): OpaqueIssuer {
  const policy = claimPolicy(values, defaults, 'introspection')
  const { allowHttp, fetch } = values
  return { policy, verify: introspecting(options, { policy, clock, allowHttp, fetch }) }
}

/** @throws {TypeError} if one of these options is given */
function without(given: object, way: string, names: readonly string[]): void {
  const [name] = names.filter((one) => (given as Record<string, unknown>)[one] !== undefined)
  if (name === undefined) return
  const why = way === 'issuers' ? 'each issuer has its own' : 'give one way to check tokens'
  throw optionError(`${way} and ${name} contradict each other: ${why}`)
}

/** Names the issuer in errors of its options: `issuers[1]`. */
function inIssuer(i: number, make: () => void): void {
  try {
    make()
  } catch (problem) {
    if (problem instanceof Error) problem.message = `issuers[${i}]: ${problem.message}`
    throw problem
  }
}

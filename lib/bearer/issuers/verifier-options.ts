import type { Clock } from '../../http/clock'
import { optionError } from '../../http/help'
import { checkedLater, functionOption, readOptions, wholeNumber } from '../../http/option-table'
import type { OptionValues } from '../../http/option-table'
import { shown } from '../../http/options'
import { type IssuerDefaults, TOKEN_TABLE, both, claimPolicy } from '../claims/claim-options'
import { issuerName } from '../claims/claims'
import { OPTION_HINTS } from '../options-of-other-packages'
import { IssuerLookup, type FindIssuer } from './issuer-lookup'
import { type IntrospectionOptions, introspecting } from './introspection'
import { TrustedIssuers, tokenVerifier } from './jwt-verifier'
import { KnownTokens } from './known-tokens'
import { type OpaqueIssuer, type VerifyToken, verifyingByApp } from './opaque-tokens'
import type { TokenVerifier } from './token-verifier'
import { type IssuerOptions, JwkSets, KEY_TABLE, mustTakeTwo, trustedIssuer } from './trusted-issuer'

/** The options of one issuer. */
export const ENTRY_TABLE = {
  ...TOKEN_TABLE,
  ...KEY_TABLE,
  introspection: checkedLater<IntrospectionOptions>(),
  verify: functionOption<VerifyToken>(),
}

/** The options that say how tokens are verified. */
export const VERIFIER_TABLE = {
  ...ENTRY_TABLE,
  issuers: checkedLater<readonly IssuerOptions[] | FindIssuer>(),
  cacheBytes: wholeNumber(0, 4_000_000_000, 32_000_000),
}

type VerifierValues = OptionValues<typeof VERIFIER_TABLE>
type EntryValues = OptionValues<typeof ENTRY_TABLE>

/** Options beside `issuers` that apply to all of them. */
const FOR_ALL_ISSUERS: ReadonlySet<string> = new Set(['audience', 'session', 'checkClaims', 'fetch'])
/** Options that say nothing where the issuer is asked about each token. */
const FOR_KEYS = [...Object.keys(KEY_TABLE), 'typ', 'tenants']
const ONCE = 'give all of its keys in one entry; secret and jwksUri may stand together'

/** The verifier of tokens, and what its issuers have in common. */
export interface Verifying {
  readonly verifier: TokenVerifier
  /** The largest tolerance of all issuers. */
  readonly clockToleranceSec: number
  /** Whether an issuer has `scopeFrom` or `session`: sessions may have roles, names outside the scope syntax of RFC 6749. */
  readonly takesRoles: boolean
}

/**
 * Makes the verifier of tokens: keys of one issuer or several, introspection, or a function of the app.
 *
 * @param given options as they were given
 * @throws {TypeError|RangeError} naming the option
 */
export function verifying(values: VerifierValues, given: object, defaults: IssuerDefaults, clock: Clock): Verifying {
  const tokens = new KnownTokens(values.cacheBytes)
  const isOne = values.issuers === undefined || values.introspection !== undefined || values.verify !== undefined
  const { issuers, opaque } = (isOne ? oneIssuer : severalIssuers)(values, given, defaults, clock)
  const policies = [...issuers.all(), ...(opaque ? [opaque] : [])].map(({ policy }) => policy)
  return {
    verifier: tokenVerifier(issuers, opaque, tokens, clock),
    clockToleranceSec: Math.max(...(issuers.lookup ? [5] : []), ...policies.map((policy) => policy.clockToleranceSec)),
    takesRoles:
      issuers.lookup !== undefined ||
      policies.some(({ rules }) => rules.scopeFrom !== undefined || rules.session !== undefined),
  }
}

/** Issuers with keys, and the one with introspection. */
interface Trusted {
  readonly issuers: TrustedIssuers
  readonly opaque: OpaqueIssuer | undefined
}

function oneIssuer(values: VerifierValues, given: object, defaults: IssuerDefaults, clock: Clock): Trusted {
  const issuers = new TrustedIssuers()
  const opaque = opaqueIssuer(values, given, ['issuers', 'cacheBytes'], defaults, clock)
  if (!opaque) issuers.add(trustedIssuer(values, defaults, clock))
  return { issuers, opaque }
}

function severalIssuers(values: VerifierValues, given: object, defaults: IssuerDefaults, clock: Clock): Trusted {
  without(
    given,
    'issuers',
    Object.keys(ENTRY_TABLE).filter((name) => !FOR_ALL_ISSUERS.has(name)),
  )
  const list: unknown = values.issuers
  const isAsked = typeof list === 'function'
  if (!isAsked && (!Array.isArray(list) || list.length === 0))
    throw optionError('issuers must be a list of one issuer or more, or a function')
  const { session, fetch, checkClaims, audience = defaults.audience } = values
  const entryOf = (one: object, name: string): EntryValues => {
    const read = readOptions(name, one, ENTRY_TABLE, OPTION_HINTS)
    return {
      ...read,
      session: read.session ?? session,
      fetch: read.fetch ?? fetch,
      checkClaims: both(checkClaims, read.checkClaims),
    }
  }
  const ofEach = { isResource: defaults.isResource, audience }
  if (isAsked) {
    const make = (iss: string, options: IssuerOptions) => {
      without(options, 'issuers', ['introspection', 'verify', 'tenants'])
      const made = trustedIssuer(entryOf(options, 'issuers()'), { ...ofEach, issuer: iss }, clock)
      if (made.policy.issuers.some((name) => issuerName(name) === issuerName(iss))) return made
      throw optionError(`issuers() must return options of the issuer ${shown(iss)}`)
    }
    return { issuers: new TrustedIssuers(new IssuerLookup(list as FindIssuer, make, clock)), opaque: undefined }
  }
  const entries = (list as object[]).map((one, i) => entryOf(one, `issuers[${i}]`))
  const issuers = new TrustedIssuers()
  const sets = new JwkSets()
  let opaque: OpaqueIssuer | undefined
  for (const [i, entry] of entries.entries()) {
    inIssuer(i, () => {
      const asked = opaqueIssuer(entry, (list as object[])[i] as object, [], ofEach, clock)
      if (asked) {
        if (opaque)
          throw optionError('issuers may have introspection or verify once: no issuer sees the tokens of another')
        opaque = asked
      } else {
        const sharing = entries.filter(({ jwksUri }) => jwksUri !== undefined && jwksUri === entry.jwksUri)
        const names = sharing.flatMap(({ issuer = [] }) => issuer)
        if (entries.some((other) => other !== entry && other.keys === entry.keys)) mustTakeTwo(entry.keys, 'issuer')
        const issuer = trustedIssuer(entry, ofEach, clock, sets, names)
        if (!issuers.add(issuer)) throw optionError(`issuers has ${shown(issuer.policy.issuer)} twice: ${ONCE}`)
      }
    })
  }
  return { issuers, opaque }
}

/**
 * The issuer that is asked about its tokens; undefined if it has keys.
 *
 * @param others further options that say nothing then
 */
function opaqueIssuer(
  values: EntryValues,
  given: object,
  others: readonly string[],
  defaults: IssuerDefaults,
  clock: Clock,
): OpaqueIssuer | undefined {
  const { introspection, verify, allowHttp, fetch } = values
  if (introspection !== undefined) {
    without(given, 'introspection', [...FOR_KEYS, ...others, 'verify'])
    const policy = claimPolicy(values, defaults, 'introspection')
    return { policy, verify: introspecting(introspection, { policy, clock, allowHttp, fetch }) }
  }
  if (verify === undefined) return undefined
  without(given, 'verify', [...FOR_KEYS, ...others])
  const policy = claimPolicy(values, defaults, 'verify')
  return { policy, verify: verifyingByApp(verify, policy, clock) }
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

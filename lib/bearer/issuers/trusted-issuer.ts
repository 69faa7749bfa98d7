import { KeyObject } from 'node:crypto'
import type { Clock } from '../../http/clock'
import { keyError, optionError } from '../../http/help'
import { type OptionValues, checkedLater, wholeNumber } from '../../http/option-table'
import { shown } from '../../http/options'
import { allowHttpHint, checkSecureUrl, isSecureUrl } from '../../http/fetch/secure-url'
import { type IssuerDefaults, type TokenOptions, type TokenValues, claimPolicy } from '../claims/claim-options'
import type { ClaimPolicy } from '../claims/claims'
import { type Algorithm, ASYMMETRIC, SYMMETRIC, isSymmetric } from '../keys/algorithm'
import { keyLookup } from '../keys/key-lookup'
import type { FindKey, KeyMaterial, KeyOptions, Secret } from '../keys/key-options'
import { type KeySource, findKeys, keySet, secretsBeside, staticKeys } from '../keys/key-source'
import { type RemoteKeysOptions, remoteKeys } from '../keys/remote-keys'
import { KeyProblem, type VerifyKey, keyFromJwk, keyFromMaterial, keyFromSecret } from '../keys/verify-key'
import { isRefusal } from '../refusal/refusal'
import { issuerCalls } from '../../http/fetch/issuer-calls'
import type { Places } from '../../http/places'
import { discovered } from './discovery'
import type { IntrospectionOptions } from './introspection'
import { type IssuerKeys, tenantKeys } from './tenant-keys'

/** One issuer: which of its tokens are accepted, and how they are checked. */
export interface IssuerOptions extends TokenOptions, KeyOptions {
  /**
   * The issuer's endpoint that says whether a token is active (RFC 7662), in place of keys:
   * `{ endpoint: 'https://ident.example.org/introspect', clientId, clientSecret }`.
   */
  readonly introspection?: IntrospectionOptions | undefined
  /**
   * Function of the app that returns the claims of an opaque token, or undefined for an invalid one, in place of keys:
   * `(token) => sessions.get(token)`. It may be async. If it throws: 503.
   */
  readonly verify?: ((token: string) => Promise<object | null | undefined> | object | null | undefined) | undefined
}

/** The options of {@link KeyOptions}, and rules for keys. */
export const KEY_TABLE = {
  key: checkedLater<KeyMaterial>(),
  keys: checkedLater<readonly KeyMaterial[] | FindKey>(),
  secret: checkedLater<Exclude<KeyOptions['secret'], undefined>>(),
  jwksUri: checkedLater<string>(),
  algorithms: checkedLater<readonly Algorithm[]>(),
  lastGoodSec: wholeNumber(0, 86_400, 3_600),
}

/** Values of the options of an issuer with keys. */
export type IssuerValues = TokenValues & OptionValues<typeof KEY_TABLE>

/** An issuer whose tokens are accepted: its keys, and the rules for its claims. */
export interface TrustedIssuer {
  readonly policy: ClaimPolicy
  readonly keys: IssuerKeys
  /** Names of the issuers that share its keys, its own among them. */
  readonly keyIssuers: readonly string[]
}

/** JWK Sets of issuers that are listed together: those with the same address and rules are one. */
export class JwkSets {
  readonly #made: { readonly rules: readonly unknown[]; readonly keys: KeySource }[] = []

  of(url: string, options: Omit<RemoteKeysOptions, 'locate'>): KeySource {
    const { algorithms, lastGoodMs, mayBeEmpty, fetch } = options
    const rules = [url, String(algorithms), lastGoodMs, mayBeEmpty, fetch]
    const known = this.#made.find((one) => one.rules.every((rule, i) => rule === rules[i]))
    if (known) return known.keys
    const keys = remoteKeys({ ...options, locate: () => url })
    this.#made.push({ rules, keys })
    return keys
  }
}

/** Options that name the source of keys. Default: discovery. */
const SOURCES = ['key', 'keys', 'secret', 'jwksUri'] as const

/**
 * Makes a trusted issuer from its options.
 *
 * @param sets JWK Sets of the issuers that are listed together
 * @param sharing names of the issuers with the same `jwksUri`
 * @throws {TypeError|RangeError} naming the option
 */
export function trustedIssuer(
  values: IssuerValues,
  defaults: IssuerDefaults,
  clock: Clock,
  sets = new JwkSets(),
  sharing: readonly string[] = [],
): TrustedIssuer {
  const policy = claimPolicy(values, defaults)
  const keyIssuers = [...policy.issuers, ...sharing]
  const { tenants, issuer } = policy
  const { jwksUri } = values
  const { keys: find } = values
  if (tenants) mustTakeTwo(find, 'tenant')
  const isAsked = typeof find === 'function'
  const hasOwnKeys = !isAsked && [values.key, find, values.secret].some((given) => given !== undefined)
  if (!tenants || (jwksUri === undefined ? hasOwnKeys : tenants.of(jwksUri, '') === jwksUri)) {
    const keys = keySource(values, issuer, clock, sets)
    return { policy, keyIssuers, keys: { of: () => keys, known: () => [{ issuer, keys }] } }
  }
  const calls = issuerCalls(clock)
  const keysOf = (tenant: string) =>
    keySource(
      { ...values, jwksUri: jwksUri && tenants.of(jwksUri, tenant) },
      tenants.of(issuer, tenant),
      clock,
      undefined, // shared with no other issuer, and kept no longer than the tenant
      calls,
      tenant,
    )
  return { policy, keyIssuers, keys: tenantKeys(tenants, issuer, keysOf) }
}

/** @throws {TypeError} if a function of keys for several tenants or issuers cannot tell whose key it is asked for */
export function mustTakeTwo(find: unknown, of: 'tenant' | 'issuer'): void {
  if (typeof find !== 'function' || find.length > 1) return
  throw keyError(
    `keys with ${of}s must take a second argument and answer by it, since a key of one ${of} must not sign for ` +
      `another: keys: async (kid, { ${of} }) => …`,
  )
}

/** @param calls for the fetches of all tenants */
function keySource(
  values: IssuerValues,
  issuer: string,
  clock: Clock,
  sets = new JwkSets(),
  calls?: Places,
  tenant?: string,
): KeySource {
  const { key, keys, secret, jwksUri, allowHttp, fetch } = values
  const given = SOURCES.filter((name) => values[name] !== undefined).join(' and ')
  if (given.includes('and') && given !== 'secret and jwksUri') {
    throw keyError(`${given} contradict each other: give one source of keys`)
  }
  const accepted = allowed(values.algorithms, given)
  const algorithms = accepted.filter((algorithm) => !isSymmetric(algorithm))
  const shared = secret === undefined ? undefined : staticKeys(secretsOf(secret, accepted.filter(isSymmetric)))
  if (shared && jwksUri === undefined) return shared
  if (key !== undefined) return staticKeys([take('key', () => keyOf(key, algorithms))])
  if (typeof keys === 'function') {
    const find: Parameters<typeof keyLookup>[0] = (kid, algorithm) => keys(kid, { issuer, tenant, algorithm })
    return keyLookup(find, (material) => keyOf(material, algorithms), algorithms, clock)
  }
  if (keys !== undefined) {
    if (!Array.isArray(keys) || keys.length === 0)
      throw keyError('keys must be a list of one key or more, or a function')
    const made = (keys as KeyMaterial[]).map((one, i) => take(`keys[${i}]`, () => keyOf(one, algorithms)))
    checkKids(made)
    return staticKeys(made)
  }
  const remote = { algorithms, clock, lastGoodMs: values.lastGoodSec * 1_000, fetch, calls }
  if (jwksUri !== undefined) {
    checkSecureUrl('jwksUri', jwksUri, allowHttp)
    if (algorithms.length === 0) {
      throw optionError(`algorithms must name one of ${ASYMMETRIC.join(', ')} for jwksUri; received ${shown(accepted)}`)
    }
    return shared ? secretsBeside(shared, sets.of(jwksUri, { ...remote, mayBeEmpty: true })) : sets.of(jwksUri, remote)
  }
  if (!isSecureUrl(issuer, allowHttp) || /[?#]/.test(issuer)) {
    throw optionError(
      `issuer must be an https URL for its keys to be discovered, or give key, keys, secret or jwksUri; ` +
        `received ${shown(issuer)}${allowHttpHint(issuer)}`,
    )
  }
  return discovered(issuer, allowHttp, remote)
}

function keyOf(material: KeyMaterial, algorithms: readonly Algorithm[]): VerifyKey {
  if (typeof material === 'string' || material instanceof KeyObject) return keyFromMaterial(material, algorithms)
  return keyFromJwk(material, algorithms)
}

/** @throws {TypeError} if two different keys have the same `kid` and fit the same algorithm */
function checkKids(keys: readonly VerifyKey[]): void {
  const set = keySet(keys)
  for (const { kid, algorithms } of keys) {
    const algorithm = algorithms.find(
      (one) => kid !== undefined && isRefusal(findKeys(set, { kid, algorithm: one, header: {} })),
    )
    if (algorithm !== undefined) throw keyError(`keys has two keys for ${algorithm} with the kid ${shown(kid)}`)
  }
}

function secretsOf(given: IssuerValues['secret'], algorithms: readonly Algorithm[]): readonly VerifyKey[] {
  const [algorithm, ...more] = algorithms
  if (algorithm === undefined || more.length > 0) {
    throw optionError(`algorithms must name one of ${SYMMETRIC.join(', ')} for secret; received ${shown(algorithms)}`)
  }
  const secrets: readonly (Secret | undefined)[] = Array.isArray(given) ? given : [given as Secret]
  const nameOf = (i: number) => (Array.isArray(given) ? `secret[${i}]` : 'secret')
  const keys = secrets.flatMap((secret, i) =>
    secret === undefined ? [] : take(nameOf(i), () => keyFromSecret(secret, algorithm)),
  )
  if (keys.length === 0) throw keyError('secret must be a secret, or a list of one or more')
  return keys
}

/** Names the option in the error, without its value: it may be a private key. */
function take(option: string, make: () => VerifyKey): VerifyKey {
  try {
    return make()
  } catch (problem) {
    if (!(problem instanceof KeyProblem)) throw problem
    throw keyError(`${option} cannot be used: ${problem.message}`)
  }
}

/** @param given sources of the keys */
function allowed(algorithms: unknown, given: string): readonly Algorithm[] {
  const family =
    given === 'secret' ? SYMMETRIC : given.startsWith('secret') ? [...ASYMMETRIC, ...SYMMETRIC] : ASYMMETRIC
  if (algorithms === undefined) return family.filter((algorithm) => algorithm !== 'HS384' && algorithm !== 'HS512')
  if (!Array.isArray(algorithms) || algorithms.length === 0) {
    throw optionError(`algorithms must be a list of one or more; received ${shown(algorithms)}`)
  }
  for (const algorithm of algorithms as unknown[]) {
    if ((family as readonly unknown[]).includes(algorithm)) continue
    const other =
      given === 'secret'
        ? "; for public keys write key, or jwksUri where jwks-rsa's expressJwtSecret() was, in place of secret"
        : ''
    throw optionError(`algorithms must be among ${family.join(', ')} here; received ${shown(algorithm)}${other}`)
  }
  return [...(algorithms as Algorithm[])]
}

import { KeyObject } from 'node:crypto'
import type { Clock } from '../../http/clock'
import { keyError, optionError } from '../../http/help'
import { optionRange, shown } from '../../http/options'
import { type Algorithm, ASYMMETRIC, SYMMETRIC } from '../keys/algorithm'
import type { KeyMaterial, KeyOptions } from '../keys/key-options'
import { type IssuerMetadata, discover } from './discovery'
import { type IssuerDefaults, type TokenOptions, claimPolicy } from '../claims/claim-options'
import type { TrustedIssuer } from './jwt-verifier'
import { tenantKeys } from './tenant-keys'
import { type KeySource, keySet, secretBeside, sharedAlgorithms, staticKeys } from '../keys/key-source'
import { type RemoteKeysOptions, remoteKeys } from '../keys/remote-keys'
import { allowHttpHint, isSecureUrl } from '../../http/secure-url'
import { KeyProblem, type VerifyKey, keyFromJwk, keyFromMaterial, keyFromSecret } from '../keys/verify-key'

/** One issuer of several. */
export type IssuerOptions = TokenOptions & KeyOptions

/** Names of the options read here, beside {@link CLAIM_OPTION_NAMES}. */
export const KEY_OPTION_NAMES: readonly string[] = ['key', 'keys', 'secret', 'jwksUri', 'algorithms', 'lastGoodSec']

/** Options that name the source of keys. Default: discovery. */
const SOURCES = ['key', 'keys', 'secret', 'jwksUri'] as const

/**
 * Makes a trusted issuer from its options.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function trustedIssuer(options: IssuerOptions, defaults: IssuerDefaults, clock: Clock): TrustedIssuer {
  const policy = claimPolicy(options, defaults)
  const keysOf = (issuer: string) => keySource(options, issuer, options.allowHttp ?? false, clock)
  const { tenants } = policy
  if (tenants && !SOURCES.some((name) => options[name] !== undefined)) {
    return { policy, keys: tenantKeys(tenants, keysOf) }
  }
  const keys = keysOf(policy.issuer)
  return { policy, keys: { of: () => keys, known: () => [{ issuer: policy.issuer, keys }] } }
}

function keySource(options: IssuerOptions, issuer: string, allowHttp: boolean, clock: Clock): KeySource {
  const { key, keys, secret, jwksUri, lastGoodSec = 3_600 } = options
  const given = SOURCES.filter((name) => options[name] !== undefined)
  if (given.length > 1 && given.join() !== 'secret,jwksUri') {
    throw keyError(`${given.join(' and ')} contradict each other: give one source of keys`)
  }
  optionRange('lastGoodSec', lastGoodSec, 0, 86_400)
  const isSecretOnly = given.join() === 'secret'
  const accepted = allowed(options.algorithms, [
    ...(isSecretOnly ? [] : ASYMMETRIC),
    ...(secret === undefined ? [] : SYMMETRIC),
  ])
  const algorithms = accepted.filter((algorithm) => !SYMMETRIC.includes(algorithm))
  const ofSecret = accepted.filter((algorithm) => SYMMETRIC.includes(algorithm))
  const shared = secret === undefined ? undefined : fixed([take('secret', () => keyFromOption(secret, ofSecret))])
  if (shared && isSecretOnly) return shared
  if (key !== undefined) return fixed([take('key', () => keyOf(key, algorithms))])
  if (keys !== undefined) {
    if (!Array.isArray(keys) || keys.length === 0) throw keyError('keys must be a list of one key or more')
    return fixed((keys as KeyMaterial[]).map((one, i) => take(`keys[${i}]`, () => keyOf(one, algorithms))))
  }
  const remote = { algorithms, clock, lastGoodMs: lastGoodSec * 1_000, fetch: options.fetch }
  if (jwksUri !== undefined) {
    if (!isSecureUrl(jwksUri, allowHttp)) {
      throw optionError(`jwksUri must be an https URL; received ${shown(jwksUri)}${allowHttpHint(jwksUri)}`)
    }
    if (algorithms.length === 0) {
      throw optionError(`algorithms must name one of ${ASYMMETRIC.join(', ')} for jwksUri; received ${shown(ofSecret)}`)
    }
    const jwks = remoteKeys({ ...remote, mayBeEmpty: shared !== undefined, locate: () => jwksUri })
    return shared ? secretBeside(shared, jwks) : jwks
  }
  if (!isSecureUrl(issuer, allowHttp) || /[?#]/.test(issuer)) {
    throw optionError(
      `issuer must be an https URL for its keys to be discovered, or give key, keys, secret or jwksUri; ` +
        `received ${shown(issuer)}${allowHttpHint(issuer)}`,
    )
  }
  return discovered(issuer, allowHttp, remote)
}

/** Shortest interval between fetches of metadata, which are repeated only after a failure. */
const REDISCOVER_MS = 60_000

function discovered(issuer: string, allowHttp: boolean, remote: Omit<RemoteKeysOptions, 'locate'>): KeySource {
  const { clock, fetch } = remote
  let metadata: IssuerMetadata | undefined
  let askedAt = -Infinity
  const locate = async (afterFailure: boolean) => {
    if (!metadata || (afterFailure && clock.now() - askedAt >= REDISCOVER_MS)) {
      askedAt = clock.now()
      metadata = await discover(issuer, clock, allowHttp, fetch)
    }
    return metadata.jwksUri
  }
  return {
    ...remoteKeys({ ...remote, locate }),
    get issuer() {
      return metadata?.issuer
    },
    get typ() {
      return metadata?.typ
    },
  }
}

function fixed(keys: readonly VerifyKey[]): KeySource {
  const set = keySet(keys)
  for (const key of keys) {
    const [algorithm] = sharedAlgorithms(key, set.byKid)
    if (algorithm === undefined) continue
    const named = key.kid === undefined ? 'without a kid to tell them apart' : `with the kid ${shown(key.kid)}`
    throw keyError(`keys has two keys for ${algorithm} ${named}`)
  }
  return staticKeys(set)
}

function keyOf(material: KeyMaterial, algorithms: readonly Algorithm[]): VerifyKey {
  if (typeof material === 'string' || material instanceof KeyObject) return keyFromMaterial(material, algorithms)
  return keyFromJwk(material, algorithms)
}

function keyFromOption(secret: unknown, algorithms: readonly Algorithm[]): VerifyKey {
  if (algorithms.length !== 1) {
    throw optionError(`algorithms must name one of ${SYMMETRIC.join(', ')} for secret; received ${shown(algorithms)}`)
  }
  if (typeof secret !== 'string' && !(secret instanceof Uint8Array) && !(secret instanceof KeyObject)) {
    throw new KeyProblem('it is no text, bytes or KeyObject')
  }
  return keyFromSecret(secret, algorithms[0] as Algorithm)
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

function allowed(given: unknown, family: readonly Algorithm[]): readonly Algorithm[] {
  if (given === undefined) return family.filter((algorithm) => algorithm !== 'HS384' && algorithm !== 'HS512')
  if (!Array.isArray(given) || given.length === 0) {
    throw optionError(`algorithms must be a list of one or more; received ${shown(given)}`)
  }
  for (const algorithm of given as unknown[]) {
    if (!(family as readonly unknown[]).includes(algorithm)) {
      throw optionError(`algorithms must be among ${family.join(', ')} here; received ${shown(algorithm)}`)
    }
  }
  return [...(given as Algorithm[])]
}

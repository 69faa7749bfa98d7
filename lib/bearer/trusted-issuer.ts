import { KeyObject } from 'node:crypto'
import type { Clock } from '../http/clock'
import { optionOneOf, optionRange, shown } from '../http/options'
import { type Algorithm, ASYMMETRIC, SYMMETRIC } from './algorithm'
import type { IssuerOptions, KeyMaterial, TokenOptions } from './bearer-options'
import { type IssuerMetadata, discover } from './discovery'
import { TYPES } from './claims'
import type { TrustedIssuer } from './jwt-verifier'
import type { VerifiedCache } from './verified-cache'
import { type KeySource, keySet, staticKeys } from './key-source'
import { type RemoteKeysOptions, remoteKeys } from './remote-keys'
import { isSecureUrl } from './url'
import { KeyProblem, type VerifyKey, keyFromJwk, keyFromMaterial, keyFromSecret } from './verify-key'

/** The names of the options read here. */
export const TOKEN_OPTION_NAMES: readonly string[] = [
  'issuer',
  'audience',
  'key',
  'keys',
  'secret',
  'jwksUri',
  'algorithms',
  'clockToleranceSec',
  'maxAgeSec',
  'lastGoodSec',
  'typ',
  'requiredClaims',
  'allowHttp',
]

/** The options that say where keys are; with none of them they are discovered. */
const SOURCES = ['key', 'keys', 'secret', 'jwksUri'] as const

/**
 * Makes a trusted issuer of its options.
 *
 * @throws {TypeError|RangeError} naming the option
 */
export function trustedIssuer(
  options: IssuerOptions,
  defaults: { readonly issuer?: string | undefined; readonly audience?: TokenOptions['audience'] },
  clock: Clock,
  cache: VerifiedCache,
): TrustedIssuer {
  const { clockToleranceSec = 5, maxAgeSec, allowHttp = false, typ, requiredClaims = [] } = options
  const issuer = options.issuer ?? defaults.issuer
  const audience = options.audience ?? defaults.audience
  if (typeof issuer !== 'string' || issuer === '') {
    throw new TypeError(`issuer is missing: give it, or set ISSUER_BASE_URL; received ${shown(issuer)}`)
  }
  const audiences: unknown = typeof audience === 'string' ? [audience] : audience
  if (
    !Array.isArray(audiences) ||
    audiences.length === 0 ||
    !audiences.every((a) => typeof a === 'string' && a !== '')
  ) {
    throw new TypeError(
      `audience is missing: give a text or a list of texts, or set AUDIENCE; received ${shown(audience)}`,
    )
  }
  optionRange('clockToleranceSec', clockToleranceSec, 0, 300)
  if (maxAgeSec !== undefined) optionRange('maxAgeSec', maxAgeSec, 1, 31_536_000)
  optionOneOf('allowHttp', allowHttp, [true, false])
  optionOneOf('typ', typ, ['at+jwt', undefined])
  if (!Array.isArray(requiredClaims) || !requiredClaims.every((name) => typeof name === 'string')) {
    throw new TypeError(`requiredClaims must be a list of names; received ${shown(requiredClaims)}`)
  }
  const policy = {
    issuer,
    audience: [...(audiences as string[])],
    types: typ === undefined ? TYPES : [typ],
    required: [...requiredClaims],
    clockToleranceSec,
    maxAgeSec,
  }
  return { keys: keySource(options, issuer, allowHttp, clock, cache), policy }
}

function keySource(
  options: IssuerOptions,
  issuer: string,
  allowHttp: boolean,
  clock: Clock,
  cache: VerifiedCache,
): KeySource {
  const given = SOURCES.filter((name) => options[name] !== undefined)
  if (given.length > 1) throw new TypeError(`${given.join(' and ')} contradict each other: give one source of keys`)
  const { key, keys, secret, jwksUri, lastGoodSec = 3_600 } = options
  optionRange('lastGoodSec', lastGoodSec, 0, 86_400)
  const algorithms = allowed(options.algorithms, secret === undefined ? ASYMMETRIC : SYMMETRIC)
  if (secret !== undefined) {
    return fixed([take('secret', () => keyFromOption(secret, algorithms))])
  }
  if (key !== undefined) return fixed([take('key', () => keyOf(key, algorithms))])
  if (keys !== undefined) {
    if (!Array.isArray(keys) || keys.length === 0) throw new TypeError('keys must be a list of one key or more')
    return fixed((keys as KeyMaterial[]).map((one, i) => take(`keys[${i}]`, () => keyOf(one, algorithms))))
  }
  const withdrawn = (keys: ReadonlySet<VerifyKey>) => cache.drop(keys)
  const remote = { algorithms, clock, lastGoodMs: lastGoodSec * 1_000, withdrawn }
  if (jwksUri !== undefined) {
    if (!isSecureUrl(jwksUri, allowHttp))
      throw new TypeError(`jwksUri must be an https URL; received ${shown(jwksUri)}`)
    return remoteKeys({ ...remote, locate: () => jwksUri })
  }
  if (!isSecureUrl(issuer, allowHttp) || /[?#]/.test(issuer)) {
    throw new TypeError(
      `issuer must be an https URL for its keys to be discovered, or give key, keys, secret or jwksUri; ` +
        `received ${shown(issuer)}`,
    )
  }
  return discovered(issuer, allowHttp, remote)
}

/** Metadata are asked for once, and again after a failure, at most once in this time. */
const REDISCOVER_MS = 60_000

function discovered(issuer: string, allowHttp: boolean, remote: Omit<RemoteKeysOptions, 'locate'>): KeySource {
  const { clock } = remote
  let metadata: IssuerMetadata | undefined
  let askedAt = -Infinity
  const locate = async (afterFailure: boolean) => {
    if (!metadata || (afterFailure && clock.now() - askedAt >= REDISCOVER_MS)) {
      askedAt = clock.now()
      metadata = await discover(issuer, clock, allowHttp)
    }
    return metadata.jwksUri
  }
  return {
    ...remoteKeys({ ...remote, locate }),
    get issuer() {
      return metadata?.issuer
    },
  }
}

function fixed(keys: readonly VerifyKey[]): KeySource {
  const unnamed = new Set<Algorithm>()
  for (const { kid, algorithm } of keys) {
    if (kid !== undefined) continue
    if (unnamed.has(algorithm))
      throw new TypeError(`keys has two keys for ${algorithm} without a kid to tell them apart`)
    unnamed.add(algorithm)
  }
  const set = keySet(keys, (kid) => {
    throw new TypeError(`keys has two keys with the kid ${shown(kid)}`)
  })
  return staticKeys(set)
}

function keyOf(material: KeyMaterial, algorithms: readonly Algorithm[]): VerifyKey {
  if (typeof material === 'string' || material instanceof KeyObject) return keyFromMaterial(material, algorithms)
  return keyFromJwk(material, algorithms)
}

function keyFromOption(secret: unknown, algorithms: readonly Algorithm[]): VerifyKey {
  if (algorithms.length > 1) throw new TypeError('algorithms must name one algorithm for a secret')
  if (typeof secret !== 'string' && !(secret instanceof Uint8Array) && !(secret instanceof KeyObject)) {
    throw new KeyProblem('it is no text, bytes or KeyObject')
  }
  return keyFromSecret(secret, algorithms[0] as Algorithm)
}

/** Names the option in what is thrown, and shows nothing of its value: it may be a key that should not be here. */
function take(option: string, make: () => VerifyKey): VerifyKey {
  try {
    return make()
  } catch (problem) {
    if (!(problem instanceof KeyProblem)) throw problem
    throw new TypeError(`${option} cannot be used: ${problem.message}`)
  }
}

function allowed(given: unknown, family: readonly Algorithm[]): readonly Algorithm[] {
  if (given === undefined) return family === SYMMETRIC ? ['HS256'] : family
  if (!Array.isArray(given) || given.length === 0) {
    throw new TypeError(`algorithms must be a list of one or more; received ${shown(given)}`)
  }
  for (const algorithm of given as unknown[]) {
    if (!(family as readonly unknown[]).includes(algorithm)) {
      throw new TypeError(`algorithms must be among ${family.join(', ')} here; received ${shown(algorithm)}`)
    }
  }
  return [...(given as Algorithm[])]
}

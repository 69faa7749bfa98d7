import { type KeyObject, createPublicKey } from 'node:crypto'
import type { Clock } from '../../http/clock'
import { keyError } from '../../http/help'
import { optionNames, shown } from '../../http/options'
import {
  type SigningAlgorithm,
  type SigningJwk,
  type SigningKeyInput,
  publicSigningJwk,
  signingAlgorithm,
  signingPrivateKey,
} from './signing-algorithm'

/** A key that signs tokens. */
export interface SigningKey {
  /**
   * PEM, JWK or KeyObject: RSA of at least 2,048 bits signs with RS256, EC on P-256 with ES256, Ed25519 with EdDSA.
   * OpenID Connect's clients take RS256 unless told otherwise (OIDC Core §15.1).
   */
  readonly key: SigningKeyInput
  /** Default: the RFC 7638 thumbprint. */
  readonly kid?: string | undefined
  /**
   * When it starts to sign: a Date, or milliseconds since 1970. Default: at once; of several such keys the last one signs. Until then it is only published, so that
   * verifiers know it before its first token. Plan at least an hour.
   */
  readonly activeFrom?: Date | number | undefined
}

/** A key of the ring, with its published public half. */
export interface RingKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly activeFrom: number
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly jwk: SigningJwk
}

/**
 * The signing keys: next, current and retired. The clock alone decides which is which, so all processes with the same list
 * agree. A retired key stays published until its last token has expired.
 */
export class Keyring {
  #keys: readonly RingKey[]
  readonly #clock: Clock
  readonly #retireMs: number

  /**
   * @param retireMs how long a key stays published after its successor took over: the longest token lifetime
   * @throws {TypeError} if a key is invalid, two share a `kid`, or none is active yet
   */
  constructor(keys: readonly SigningKey[], clock: Clock, retireMs: number) {
    this.#clock = clock
    this.#retireMs = retireMs
    this.#keys = ringOf(keys, clock.date())
  }

  /** Replaces the list. It must still contain the retired keys whose tokens are to be accepted. @throws {TypeError} as the constructor */
  replace(keys: readonly SigningKey[]): void {
    this.#keys = ringOf(keys, this.#clock.date())
  }

  /** The key that signs now: the active one with the latest `activeFrom`. */
  current(): RingKey {
    const now = this.#clock.date()
    return this.#keys.findLast(({ activeFrom }) => activeFrom <= now) ?? (this.#keys[0] as RingKey)
  }

  /** The keys to publish and to verify tokens with, current first. Keys that became active together are all published. */
  published(): readonly RingKey[] {
    const now = this.#clock.date()
    const current = this.current()
    const others = this.#keys.filter((key) => {
      const successor = this.#keys.find(({ activeFrom }) => activeFrom > key.activeFrom)
      return key !== current && (!successor || successor.activeFrom + this.#retireMs > now)
    })
    return [current, ...others]
  }

  /** The published key of that id. */
  find(kid: string): RingKey | undefined {
    return this.published().find((key) => key.kid === kid)
  }

  /** The whole list, current first: what is not a token outlives the rotation for as long as its key is listed. */
  all(): readonly RingKey[] {
    const current = this.current()
    return [current, ...this.#keys.filter((key) => key !== current)]
  }
}

function ringOf(keys: readonly SigningKey[], now: number): readonly RingKey[] {
  if (!Array.isArray(keys) || keys.length === 0) {
    throw keyError(`signingKeys must be an array of at least one key; received ${shown(keys)}`)
  }
  const ring = (keys as readonly SigningKey[]).map(ringKey).sort((a, b) => a.activeFrom - b.activeFrom)
  if (new Set(ring.map(({ kid }) => kid)).size < ring.length) throw keyError('signingKeys: two keys have the same kid')
  if ((ring[0] as RingKey).activeFrom > now) throw keyError('signingKeys: no key is active yet')
  return ring
}

function ringKey(signingKey: SigningKey): RingKey {
  optionNames('a key in signingKeys', signingKey, ['key', 'kid', 'activeFrom'])
  const privateKey = signingPrivateKey(signingKey.key)
  const alg = signingAlgorithm(privateKey)
  const publicKey = createPublicKey(privateKey)
  const jwk = publicSigningJwk(publicKey, alg, signingKey.kid)
  const { kid } = jwk
  const { activeFrom = 0 } = signingKey
  if (typeof kid !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(kid)) {
    throw keyError(`kid must be 1 to 128 printable ASCII characters; received ${shown(kid)}`)
  }
  const from = Number(activeFrom)
  if (!Number.isFinite(from)) throw keyError(`activeFrom must be a date; received ${shown(activeFrom)}`)
  return { kid, alg, activeFrom: from, privateKey, publicKey, jwk }
}

import { type KeyObject, createHmac, hkdfSync } from 'node:crypto'
import { sameSecret } from '../http/secret'

/** A shorter signature could be guessed. */
const LEAST_TAG_BYTES = 16

/**
 * Signs state that a page carries from one request to the next, so that the server stores nothing for a login page. Its
 * keys derive from the signing keys: all processes have the same ones, and they rotate together.
 */
export class Seal {
  readonly #issuer: string
  readonly #keys: () => readonly KeyObject[]
  readonly #derived = new WeakMap<KeyObject, Buffer>()

  /**
   * @param issuer other issuers may have the same keys
   * @param keys returns the private keys, current first
   */
  constructor(issuer: string, keys: () => readonly KeyObject[]) {
    this.#issuer = issuer
    this.#keys = keys
  }

  /** `<payload>.<mac>`, valid for this use only. */
  seal(use: string, value: unknown): string {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${payload}.${this.#mac(this.#keys()[0] as KeyObject, use, payload)}`
  }

  /** The value sealed for this use, or undefined if it was forged, changed, or sealed for another use. */
  open(use: string, sealed: string): unknown {
    const dot = sealed.lastIndexOf('.')
    const payload = sealed.slice(0, Math.max(0, dot))
    const mac = sealed.slice(dot + 1)
    if (!this.#keys().some((key) => sameSecret(this.#mac(key, use, payload), mac))) return undefined
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown
  }

  /** The value of an unverified seal, or undefined. */
  static unverified(sealed: string): unknown {
    try {
      return JSON.parse(Buffer.from(sealed.split('.', 1)[0] as string, 'base64url').toString()) as unknown
    } catch {
      return undefined
    }
  }

  /** A signature of a text, for this use only. @param bytes at most 64 */
  tag(use: string, text: string, bytes: number): Buffer {
    return this.#macBytes(this.#keys()[0] as KeyObject, 'sha512', use, text).subarray(0, bytes)
  }

  /** Whether the tag signs the text for this use. Tags of different lengths are accepted. */
  isTag(use: string, text: string, tag: Buffer): boolean {
    const given = tag.toString('base64url')
    return this.#keys().some((key) => {
      const mac = this.#macBytes(key, 'sha512', use, text)
      return tag.length >= LEAST_TAG_BYTES && sameSecret(mac.toString('base64url', 0, tag.length), given)
    })
  }

  #mac(key: KeyObject, use: string, payload: string): string {
    return this.#macBytes(key, 'sha256', use, payload).toString('base64url')
  }

  #macBytes(key: KeyObject, hash: 'sha256' | 'sha512', use: string, text: string): Buffer {
    let derived = this.#derived.get(key)
    if (!derived) {
      const material = key.export({ type: 'pkcs8', format: 'der' })
      derived = Buffer.from(hkdfSync('sha256', material, '', 'express-tollgate seal', 32))
      this.#derived.set(key, derived)
    }
    return createHmac(hash, derived).update(`${this.#issuer}\n${use}\n${text}`).digest()
  }
}

import { type KeyObject, createHmac, hkdfSync } from 'node:crypto'
import { sameSecret } from '../http/secret'

/**
 * Signs what a page carries from one request to the next, so that showing a login page keeps nothing on the server. The
 * keys are derived from the signing keys: processes agree on them, and they rotate along.
 */
export class Seal {
  readonly #keys: () => readonly KeyObject[]
  readonly #derived = new WeakMap<KeyObject, Buffer>()

  /** @param keys the private keys, current first */
  constructor(keys: () => readonly KeyObject[]) {
    this.#keys = keys
  }

  /** `<payload>.<mac>`, for this use alone. */
  seal(use: string, value: unknown): string {
    const payload = Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${payload}.${this.#mac(this.#keys()[0] as KeyObject, use, payload)}`
  }

  /** What was sealed for this use, or undefined where it was not, or was changed. */
  open(use: string, sealed: string): unknown {
    const dot = sealed.lastIndexOf('.')
    const payload = sealed.slice(0, Math.max(0, dot))
    const mac = sealed.slice(dot + 1)
    if (!this.#keys().some((key) => sameSecret(this.#mac(key, use, payload), mac))) return undefined
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown
  }

  #mac(key: KeyObject, use: string, payload: string): string {
    let derived = this.#derived.get(key)
    if (!derived) {
      const material = key.export({ type: 'pkcs8', format: 'der' })
      derived = Buffer.from(hkdfSync('sha256', material, '', 'express-tollgate seal', 32))
      this.#derived.set(key, derived)
    }
    return createHmac('sha256', derived).update(`${use}\n${payload}`).digest('base64url')
  }
}

import { readCookie } from '../http/read-cookie'

/** Names, reads and writes the server's cookies. */
export class Cookies {
  readonly #secure: boolean

  /** @param secure true if the issuer is https: adds `Secure` and the `__Host-` prefix, which no other host can set */
  constructor(secure: boolean) {
    this.#secure = secure
  }

  /** The cookie's full name: `__Host-tollgate-session`. */
  name(short: 'session' | 'browser'): string {
    return `${this.#secure ? '__Host-' : ''}tollgate-${short}`
  }

  read(header: string | undefined, short: 'session' | 'browser'): string | undefined {
    return readCookie(header, this.name(short))
  }

  /** The `Set-Cookie` field of a session cookie. An empty value deletes it. */
  write(short: 'session' | 'browser', value: string): string {
    const flags = `Path=/; HttpOnly; SameSite=Lax${this.#secure ? '; Secure' : ''}`
    return `${this.name(short)}=${value}; ${flags}${value === '' ? '; Max-Age=0' : ''}`
  }
}

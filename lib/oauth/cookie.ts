import { readCookie } from '../http/read-cookie'

/** Names and writes the cookies of a server whose issuer is https, or is not. */
export class Cookies {
  readonly #secure: boolean

  /** @param secure true where the issuer is https: `Secure`, and the `__Host-` prefix that no other host can forge */
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

  /** A `Set-Cookie` value for as long as the browser is open; an empty value takes the cookie away. */
  write(short: 'session' | 'browser', value: string): string {
    const flags = `Path=/; HttpOnly; SameSite=Lax${this.#secure ? '; Secure' : ''}`
    return `${this.name(short)}=${value}; ${flags}${value === '' ? '; Max-Age=0' : ''}`
  }
}

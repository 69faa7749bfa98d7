/** The value of the first cookie of that name in a `Cookie` header, if it looks like one of ours. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) {
      const value = pair.slice(at + 1).trim()
      return /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined
    }
  }
  return undefined
}

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

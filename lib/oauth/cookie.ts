import { readCookie } from '../http/read-cookie'
import { issuerTag } from './records/records'

/** The cookies by short name: the website session, the browser that a form was shown to, a device known to its user. */
export type CookieName = 'session' | 'browser' | 'device'

/** Names, reads and writes the server's cookies. Their names end in the issuer's tag: a host may have several issuers. */
export class Cookies {
  readonly #secure: boolean
  readonly #tag: string

  /** @param issuer if it is https, adds `Secure` and the `__Host-` prefix, which no other host can set */
  constructor(issuer: string) {
    this.#secure = issuer.startsWith('https:')
    this.#tag = issuerTag(issuer)
  }

  /** The cookie's full name: `__Host-tollgate-session-4fK2x_9a`. */
  name(short: CookieName): string {
    return `${this.#secure ? '__Host-' : ''}tollgate-${short}-${this.#tag}`
  }

  read(header: string | undefined, short: CookieName): string | undefined {
    return readCookie(header, this.name(short))
  }

  /** The `Set-Cookie` field. Without `maxAgeSec` the cookie ends with the browser's session. An empty value deletes it. */
  write(short: CookieName, value: string, maxAgeSec?: number): string {
    const age = value === '' ? 0 : maxAgeSec
    const flags = `Path=/; HttpOnly; SameSite=Lax${this.#secure ? '; Secure' : ''}`
    return `${this.name(short)}=${value}; ${flags}${age === undefined ? '' : `; Max-Age=${age}`}`
  }
}

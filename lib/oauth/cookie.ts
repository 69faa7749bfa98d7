import { randomInt } from 'node:crypto'
import { readCookie } from '../http/request/read-cookie'
import { newSecret } from '../http/secret'
import { issuerTag } from './records/records'

/** The cookies by short name: the website session, a device known to its user. */
export type CookieName = 'session' | 'device'

/** Browser cookies that are read, and kept. More come only of pages that somebody opens many of at once. */
const MOST_BROWSERS = 50

/** Names, reads and writes the server's cookies. Their names end in the issuer's tag: a host may have several issuers. */
export class Cookies {
  readonly #secure: boolean
  readonly #tag: string

  /** @param issuer if it is https, adds `Secure` and the `__Host-` prefix, which no other host can set */
  constructor(issuer: string) {
    this.#secure = issuer.startsWith('https:')
    this.#tag = issuerTag(issuer)
  }

  read(header: string | undefined, short: CookieName): string | undefined {
    return readCookie(header, this.#name(short))
  }

  /** The secrets of the browser: several where its first pages were opened at once, each with a cookie of its own. */
  browsers(header: string | undefined): readonly string[] {
    return this.#browserNames(header).flatMap((name) => readCookie(header, name) ?? [])
  }

  /** A new browser secret, with the `Set-Cookie` field for it. Its cookie takes no other one's place. */
  newBrowser(): { secret: string; field: string } {
    const secret = newSecret()
    const letters = Array.from({ length: 6 }, () => String.fromCharCode(97 + randomInt(26))).join('')
    return { secret, field: this.#field(this.#name(`browser${letters}`), secret) }
  }

  /** The `Set-Cookie` field. Without `maxAgeSec` the cookie ends with the browser's session. An empty value deletes it. */
  write(short: CookieName, value: string, maxAgeSec?: number): string {
    return this.#field(this.#name(short), value, value === '' ? 0 : maxAgeSec)
  }

  #name(short: string): string {
    return `${this.#secure ? '__Host-' : ''}tollgate-${short}-${this.#tag}`
  }

  #browserNames(header: string | undefined): readonly string[] {
    const [begin = '', end = ''] = this.#name('browser|').split('|')
    const names = header?.split(';').map((pair) => pair.slice(0, Math.max(0, pair.indexOf('='))).trim()) ?? []
    const isBrowser = (name: string) => name.startsWith(begin) && name.endsWith(end)
    return names.filter(isBrowser).slice(0, MOST_BROWSERS)
  }

  #field(name: string, value: string, maxAgeSec?: number): string {
    const flags = `Path=/; HttpOnly; SameSite=Lax${this.#secure ? '; Secure' : ''}`
    return `${name}=${value}; ${flags}${maxAgeSec === undefined ? '' : `; Max-Age=${maxAgeSec}`}`
  }
}

import type { Clock } from '../../http/clock'
import { hashOf, newSecret } from '../../http/secret'
import type { Records } from './records'

/** A user who is signed in to the website. */
export interface WebsiteSession {
  /** Names the session in `sid` claims. Public: the hash of the cookie. */
  readonly sid: string
  readonly userId: string
  /** When the user entered the password: milliseconds since 1970. */
  readonly authTimeMs: number
}

/** Website sessions. The cookie is a 256-bit secret, stored as its hash. A session ends after an idle time and a lifetime. */
export class WebsiteSessions {
  readonly #records: Records
  readonly #clock: Clock
  readonly #lifetimeMs: number
  readonly #idleMs: number

  constructor(records: Records, clock: Clock, lifetimeMs: number, idleMs: number) {
    this.#records = records
    this.#clock = clock
    this.#lifetimeMs = lifetimeMs
    this.#idleMs = Math.min(idleMs, lifetimeMs)
  }

  /** Starts a session at login. The cookie is always new, which prevents session fixation. */
  async start(userId: string): Promise<{ cookie: string; session: WebsiteSession }> {
    const cookie = newSecret()
    const session = { sid: hashOf(cookie), userId, authTimeMs: this.#clock.date() }
    await this.#records.set('session', session.sid, session, this.#idleMs)
    return { cookie, session }
  }

  /** The active session of a cookie. Each look-up restarts the idle time. */
  async find(cookie: string | undefined): Promise<WebsiteSession | undefined> {
    if (cookie === undefined) return undefined
    const session = await this.#records.get<WebsiteSession>('session', hashOf(cookie), this.#idleMs)
    return session && this.#clock.date() < session.authTimeMs + this.#lifetimeMs ? session : undefined
  }

  async end(sid: string): Promise<void> {
    await this.#records.claim('session', sid, 0)
  }
}

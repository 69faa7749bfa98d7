import type { Clock } from '../../http/clock'
import { hashOf, newSecret } from '../../http/secret'
import type { Records } from './records'
import type { RevocationRecords } from './revocation-records'

/** A user who is signed in to the website. */
export interface WebsiteSession {
  /** Names the session in `sid` claims. Public: the hash of the cookie. */
  readonly sid: string
  readonly userId: string
  /** When the user signed in: milliseconds since 1970. */
  readonly authTimeMs: number
}

/** A login, as a session keeps it. */
export interface Login {
  readonly userId: string
  /** The user's mark at the login: see `RevocationRecords`. */
  readonly userMark?: string
  /** How strong the login was and how it was done, where the app's own page said it. */
  readonly acr?: string
  readonly amr?: readonly string[]
}

/** A session as it is kept. */
export interface SessionRecord extends WebsiteSession, Login {
  /** The ids of this user's earlier sessions in the same browser, latest first. */
  readonly earlier?: readonly string[]
}

/**
 * Maximum number of earlier sessions whose grants a logout ends. Only a program signs in more often within one session.
 */
const MOST_EARLIER = 20

/** Website sessions. The cookie is a 256-bit secret, stored as its hash. A session ends after an idle time and a lifetime. */
export class WebsiteSessions {
  private readonly idleMs: number

  constructor(
    private readonly records: Records,
    private readonly revocations: RevocationRecords,
    private readonly clock: Clock,
    private readonly lifetimeMs: number,
    idleMs: number,
  ) {
    this.idleMs = Math.min(idleMs, lifetimeMs)
  }

  /**
   * Starts a session at login and replaces the browser's previous session. The cookie is always new, which prevents
   * session fixation.
   *
   * @param login with the user's mark, read before the password was checked
   */
  async start(login: Login, before: SessionRecord | undefined): Promise<{ cookie: string; session: SessionRecord }> {
    const cookie = newSecret()
    const earlier =
      before?.userId === login.userId ? [before.sid, ...(before.earlier ?? [])].slice(0, MOST_EARLIER) : []
    const session: SessionRecord = {
      ...login,
      sid: hashOf(cookie),
      authTimeMs: this.clock.date(),
      ...(earlier.length > 0 && { earlier }),
    }
    await this.records.set('session', session.sid, session, this.idleMs)
    if (before) await this.end(before.sid)
    return { cookie, session }
  }

  /** The active session of a cookie. Each look-up restarts the idle time. */
  async find(cookie: string | undefined): Promise<SessionRecord | undefined> {
    if (cookie === undefined) return undefined
    const session = await this.records.get<SessionRecord>('session', hashOf(cookie), this.idleMs)
    if (!session || this.clock.date() >= session.authTimeMs + this.lifetimeMs) return undefined
    return (await this.revocations.isUserRevoked(session.userId, session.userMark)) ? undefined : session
  }

  async end(sid: string): Promise<void> {
    await this.records.claim('session', sid, 0)
  }

  /** Ends the session and every grant that was made in it. */
  async signOut({ sid, earlier = [] }: SessionRecord): Promise<void> {
    await Promise.all([sid, ...earlier].map((id) => this.revocations.revoke('session', id)))
    await this.end(sid)
  }
}

import type { Clock } from '../../http/clock'
import { hashOf, newId, newSecret } from '../../http/secret'
import { type Grants, WEBSITE } from './grants'
import { ofUser } from './owners'
import type { Records } from './records'
import type { RevocationRecords } from './revocation-records'

/** A user who is signed in to the website. */
export interface WebsiteSession {
  /** Names the session in `sid` claims. Public. It stays when the same user signs in again in the same browser. */
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
  /** Names its record: the hash of the cookie. */
  readonly key: string
}

/** Website sessions. The cookie is a 256-bit secret, stored as its hash. A session ends after an idle time and a lifetime. */
export class WebsiteSessions {
  private readonly idleMs: number

  constructor(
    private readonly records: Records,
    private readonly revocations: RevocationRecords,
    private readonly grants: Grants,
    private readonly clock: Clock,
    private readonly lifetimeMs: number,
    idleMs: number,
  ) {
    this.idleMs = Math.min(idleMs, lifetimeMs)
  }

  /**
   * Starts a session at login, in place of the browser's previous one. The cookie is always new, which prevents session
   * fixation.
   *
   * @param login with the user's mark, read before the password was checked
   */
  async start(login: Login, before: SessionRecord | undefined): Promise<{ cookie: string; session: SessionRecord }> {
    const cookie = newSecret()
    const sid = before?.userId === login.userId ? before.sid : newId()
    const session: SessionRecord = { ...login, sid, key: hashOf(cookie), authTimeMs: this.clock.date() }
    const { userId } = login
    await this.records.set('session', session.key, session, this.idleMs, ofUser(userId))
    const entry = { userId, clientId: WEBSITE, grantId: session.key, sid }
    await this.grants.use(entry, [['session', session.key]], this.lifetimeMs)
    return { cookie, session }
  }

  /** The active session of a cookie. Each look-up restarts the idle time. */
  async find(cookie: string | undefined): Promise<SessionRecord | undefined> {
    if (cookie === undefined) return undefined
    const session = await this.records.get<SessionRecord>('session', hashOf(cookie), this.idleMs)
    if (!session || this.clock.date() >= session.authTimeMs + this.lifetimeMs) return undefined
    return (await this.revocations.isSessionOver(session)) ? undefined : session
  }

  /** Forgets the session. What was granted in it stays. */
  async end({ key, userId }: SessionRecord): Promise<void> {
    await this.records.claim('session', key, 0)
    await this.grants.leave(userId, key)
  }
}

import type { Clock } from '../../http/clock'
import { within } from '../../http/deadline'
import { FetchProblem } from '../../http/fetch/fetch-json'
import { shown } from '../../http/options'
import { hashOf, newId } from '../../http/secret'
import { warnOnce } from '../../http/warn-once'
import type { Client, ClientDirectory } from '../directories/client'
import { findClientRow } from '../directories/rows'
import type { Keyring } from '../keys/keyring'
import { type JwtKind, signedJwt } from '../keys/signed-jwt'
import { ofUser } from '../records/owners'
import type { Records } from '../records/records'
import type { WebsiteSession } from '../records/website-sessions'

/** OpenID Connect Back-Channel Logout 1.0 §2.4. */
const LOGOUT_TOKEN: JwtKind = { typ: 'logout+jwt', longest: 8_192 }
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const LIFETIME_SEC = 120
/** Waits before each try. */
const TRIES_AFTER_MS = [0, 5_000, 30_000]
const TIMEOUT_MS = 5_000
/** Notices to one app: how many are sent at the same time, and how many wait. More are dropped, with a warning. */
const [MOST_RUNNING, MOST_WAITING] = [4, 1_000]
/** Logins of one user that are remembered, the latest first. */
const MOST_LOGINS = 200

/** A login of an app in a website session, as kept by user. */
interface AppLogin {
  readonly clientId: string
  readonly sid: string
  /** When the session ends at the latest, in milliseconds since 1970. */
  readonly untilMs: number
}

/** A notice to one app. `sid` is missing where all of the user's sessions ended. */
interface Notice {
  readonly clientId: string
  readonly userId: string
  readonly sid: string | undefined
}

/** Notices to one app. */
interface Line {
  running: number
  readonly waiting: Notice[]
}

/**
 * Tells apps that a user has signed out (OpenID Connect Back-Channel Logout 1.0): those of the directory that have a
 * `backchannelLogoutUri`. A notice is sent after the browser's response, and tried three times.
 */
export class LogoutNotices {
  readonly #lines = new Map<string, Line>()
  readonly #under = new Set<Promise<void>>()
  /** Ends the waits before further tries. */
  readonly #wake = new Set<() => void>()
  #isClosed = false

  /** @param sessionMs longest lifetime of a website session */
  constructor(
    private readonly issuer: string,
    private readonly clients: ClientDirectory,
    private readonly records: Records,
    private readonly keyring: Keyring,
    private readonly clock: Clock,
    private readonly sessionMs: number,
  ) {}

  /** Remembers the app's login in the session, if the app has a `backchannelLogoutUri`. */
  async remember(
    { clientId, backchannelLogoutUri }: Client,
    { userId, sid, authTimeMs }: WebsiteSession,
  ): Promise<void> {
    if (backchannelLogoutUri === undefined) return
    const login: AppLogin = { clientId, sid, untilMs: authTimeMs + this.sessionMs }
    // Another process may write the list at the same moment. What it left out is added again.
    for (let tries = 0; tries < 5; tries++) {
      const logins = await this.loginsOf(userId)
      if (logins.some((one) => one.clientId === clientId && one.sid === sid)) return
      const kept = [login, ...logins].slice(0, MOST_LOGINS)
      await this.records.set('logins', hashOf(userId), kept, this.sessionMs, ofUser(userId))
    }
  }

  /** Tells the apps that have a login of the session; without `sid`, of any session of the user. Returns at once. */
  send(userId: string, sid?: string): void {
    this.track(this.findAndSend(userId, sid))
  }

  /** Waits for the notices under way. Those that would be tried again are dropped. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const wake of this.#wake) wake()
    await Promise.all(this.#under)
  }

  private async findAndSend(userId: string, sid: string | undefined): Promise<void> {
    try {
      const logins = (await this.loginsOf(userId)).filter((login) => sid === undefined || login.sid === sid)
      for (const clientId of new Set(logins.map((login) => login.clientId))) this.enqueue({ clientId, userId, sid })
    } catch (err) {
      warnOfNotice('any app', err)
    }
  }

  private enqueue(notice: Notice): void {
    const line = this.#lines.get(notice.clientId) ?? { running: 0, waiting: [] }
    this.#lines.set(notice.clientId, line)
    if (line.waiting.length >= MOST_WAITING)
      return warnOfNotice(shown(notice.clientId), new FetchProblem('too many wait'))
    line.waiting.push(notice)
    if (line.running < MOST_RUNNING) this.track(this.work(notice.clientId, line))
  }

  private async work(clientId: string, line: Line): Promise<void> {
    line.running++
    for (let notice = line.waiting.shift(); notice; notice = line.waiting.shift()) await this.deliver(notice)
    line.running--
    if (line.running === 0) this.#lines.delete(clientId)
  }

  private async deliver(notice: Notice): Promise<void> {
    let failure: unknown
    for (const waitMs of TRIES_AFTER_MS) {
      if (waitMs > 0 && !(await this.hasWaited(waitMs))) break
      try {
        return await this.post(notice)
      } catch (err) {
        failure = err
      }
    }
    warnOfNotice(shown(notice.clientId), failure)
  }

  private async post({ clientId, userId, sid }: Notice): Promise<void> {
    const url = (await findClientRow(this.clients, clientId))?.backchannelLogoutUri
    if (url === undefined) return
    const iat = Math.floor(this.clock.date() / 1_000)
    const claims = {
      iss: this.issuer,
      sub: userId,
      aud: clientId,
      iat,
      exp: iat + LIFETIME_SEC,
      jti: newId(),
      ...(sid !== undefined && { sid }),
      events: { [EVENT]: {} },
    }
    const token = await signedJwt(LOGOUT_TOKEN, claims, this.keyring.current())
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams({ logout_token: token }).toString()
    const { status } = await within(TIMEOUT_MS, this.clock, async (signal) => {
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      await response.body?.cancel()
      return response
    })
    if (status < 200 || status > 299) throw new FetchProblem(`${url} answered ${status}`, status)
  }

  /** Waits before the next try. False if the server closes meanwhile. */
  private async hasWaited(ms: number): Promise<boolean> {
    if (this.#isClosed) return false
    let cancel = () => {}
    let wake = () => {}
    await new Promise<void>((resolve) => {
      cancel = this.clock.after(ms, resolve)
      this.#wake.add((wake = resolve))
    })
    this.#wake.delete(wake)
    cancel()
    return !this.#isClosed
  }

  private async loginsOf(userId: string): Promise<readonly AppLogin[]> {
    const logins = (await this.records.get<readonly AppLogin[]>('logins', hashOf(userId))) ?? []
    return logins.filter(({ untilMs }) => untilMs > this.clock.date())
  }

  private track(work: Promise<void>): void {
    this.#under.add(work)
    void work.finally(() => this.#under.delete(work))
  }
}

function warnOfNotice(app: string, err: unknown): void {
  const why = err instanceof Error ? err.message : 'it failed'
  const message = `authorizationServer() could not tell ${app} that a user signed out: ${why}. Its session of the user goes on`
  const remedy = 'See that its backchannelLogoutUri can be reached from here, and answers 200 or 204'
  warnOnce('TOLLGATE_LOGOUT', `${message}. ${remedy}`, `TOLLGATE_LOGOUT ${app}`)
}

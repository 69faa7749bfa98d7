import type { Clock } from '../../http/clock'
import { within } from '../../http/deadline'
import { FetchProblem } from '../../http/fetch/fetch-json'
import { shown } from '../../http/options'
import { OrderedMap } from '../../http/ordered-map'
import { newId } from '../../http/secret'
import { warn } from '../../http/warn-once'
import type { ClientDirectory } from '../directories/client'
import { findClientRow } from '../directories/rows'
import type { Keyring } from '../keys/keyring'
import { type JwtKind, signedJwt } from '../keys/signed-jwt'
import { type Grants, WEBSITE } from '../records/grants'

/** OpenID Connect Back-Channel Logout 1.0 §2.4. */
const LOGOUT_TOKEN: JwtKind = { typ: 'logout+jwt', longest: 8_192 }
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const LIFETIME_SEC = 120
/** Waits before each try. */
const TRIES_AFTER_MS = [0, 5_000, 30_000]
const TIMEOUT_MS = 5_000
/** `close()` gives up what is not sent then. */
const CLOSE_MS = 10_000
/** Notices to one app that are sent at the same time. */
const MOST_RUNNING = 4

/** A notice to one app. `sid` is missing where all of the user's sessions ended. */
interface Notice {
  readonly clientId: string
  readonly userId: string
  readonly sid: string | undefined
}

/** Notices to one app. */
interface Line {
  running: number
  readonly waiting: OrderedMap<Notice, true>
  /** How many could not be sent, and why the last one. */
  lost: number
  why: unknown
}

/**
 * Tells apps that a user has signed out (OpenID Connect Back-Channel Logout 1.0): those of the directory that have a
 * `backchannelLogoutUri` and a grant of the user. A notice is sent after the browser's response, and tried three times.
 */
export class LogoutNotices {
  readonly #lines = new Map<string, Line>()
  readonly #under = new Set<Promise<void>>()
  /** Ends the waits before further tries. */
  readonly #wake = new Set<() => void>()
  #isClosed = false

  constructor(
    private readonly issuer: string,
    private readonly clients: ClientDirectory,
    private readonly grants: Grants,
    private readonly keyring: Keyring,
    private readonly clock: Clock,
    private readonly mostWaiting = 100_000,
  ) {}

  /** Tells the apps that have a grant of the session; without `sid`, of any session of the user. Returns at once. */
  send(userId: string, sid?: string): void {
    this.track(this.findAndSend(userId, sid))
  }

  /** Sends the notices that wait, for 10 s at most. Those that would be tried again are given up. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const wake of this.#wake) wake()
    const sent = async () => {
      while (this.#under.size > 0) await Promise.all(this.#under)
    }
    await within(CLOSE_MS, this.clock, sent).catch((err: unknown) => {
      for (const [app, { running, waiting, lost }] of this.#lines) {
        warnOfNotices(app, lost + running + waiting.size, err)
        waiting.clear()
      }
    })
  }

  private async findAndSend(userId: string, sid: string | undefined): Promise<void> {
    try {
      const grants = (await this.grants.of(userId)).filter(
        (grant) => grant.clientId !== WEBSITE && (sid === undefined || grant.sid === sid),
      )
      for (const clientId of new Set(grants.map((grant) => grant.clientId))) this.enqueue({ clientId, userId, sid })
    } catch (err) {
      warnOfNotices('any app', 1, err)
    }
  }

  private enqueue(notice: Notice): void {
    const line = this.#lines.get(notice.clientId) ?? { running: 0, waiting: new OrderedMap(), lost: 0, why: undefined }
    this.#lines.set(notice.clientId, line)
    if (line.waiting.size >= this.mostWaiting) this.lose(line, new FetchProblem('too many wait'))
    else line.waiting.set(notice, true)
    if (line.running < MOST_RUNNING) this.track(this.work(notice.clientId, line))
  }

  private async work(clientId: string, line: Line): Promise<void> {
    line.running++
    for (let next = line.waiting.oldest; next; next = line.waiting.oldest) {
      line.waiting.delete(next)
      await this.deliver(next, line)
    }
    line.running--
    if (line.running > 0) return
    this.#lines.delete(clientId)
    if (line.lost > 0) warnOfNotices(clientId, line.lost, line.why)
  }

  private lose(line: Line, why: unknown): void {
    Object.assign(line, { lost: line.lost + 1, why })
  }

  private async deliver(notice: Notice, line: Line): Promise<void> {
    let failure: unknown
    for (const waitMs of TRIES_AFTER_MS) {
      if (waitMs > 0 && !(await this.hasWaited(waitMs))) break
      try {
        return await this.post(notice)
      } catch (err) {
        failure = err
      }
    }
    this.lose(line, failure)
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

  private track(work: Promise<void>): void {
    this.#under.add(work)
    void work.finally(() => this.#under.delete(work))
  }
}

function warnOfNotices(app: string, count: number, err: unknown): void {
  const why = err instanceof Error ? err.message : 'it failed'
  const message = `authorizationServer() could not tell ${shown(app)} of ${count} sign-outs: ${why}. Its sessions go on`
  const remedy = 'See that its backchannelLogoutUri can be reached from here, and answers 200 or 204'
  warn('TOLLGATE_LOGOUT', `${message}. ${remedy}`)
}

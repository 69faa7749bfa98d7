import { randomBytes } from 'node:crypto'
import type { Request, Response } from 'express'
import { clientNetwork } from '../../http/request/client-network'
import { type OAuthLoginMessage, publish } from '../diagnostics'
import { DirectoryBusyError } from '../directories/hash-slots'
import { type LoginRefusal, type User, foldedUsername } from '../directories/user'
import type { Parts } from '../parts'
import { requestNetwork } from '../request-network'
import type { Login } from '../records/website-sessions'

/** An account, for counting login attempts. */
interface Account {
  /** The same for every spelling and alias that finds it. Another one after `revokeUser()`: no device is known then. */
  readonly name: string
  readonly userId: string | undefined
  /** Read before the password is checked: a revocation in between ends this login, too. */
  readonly userMark: string | undefined
}

/** A login that is counted. */
export interface LoginAttempt {
  readonly network: string
  /** Milliseconds to wait, if too many attempts have failed; else 0. */
  readonly waitMs: number
  /** Ends the attempt where it was let in: it counts if it has failed. */
  end(hasFailed: boolean): Promise<void>
  /** Makes the device known for the user, and tells the app. */
  succeeded(userId: string, res: Response): Promise<Login>
  /** Tells the app. */
  report(outcome: OAuthLoginMessage['outcome'], userId?: string): void
}

/**
 * Begins an attempt to sign in, of the account, the network or the device.
 *
 * @param isGuess false: the login cannot be guessed, and is limited by nothing
 */
export async function beginLogin(
  parts: Parts,
  req: Request,
  clientId: string,
  username: string,
  isGuess = true,
): Promise<LoginAttempt> {
  const { attempts, cookies, seal } = parts
  const account = await accountOf(parts, username)
  const device = knownDevice(parts, req, account)
  const network = clientNetwork(req)
  const source = { account: account.name, isKnown: account.userId !== undefined, network, deviceId: device }
  const shown = (text: string) =>
    parts.loginEvents === 'plain' ? text : seal.tag('event', text, 16).toString('base64url')
  const report = (outcome: OAuthLoginMessage['outcome'], userId?: string) =>
    publish('oauth-login', { clientId, outcome, userId, account: shown(username), address: shown(network) })
  const waitMs = isGuess ? await requestNetwork.run(network, () => attempts.begin(source)) : 0
  return {
    network,
    waitMs,
    end: async (hasFailed) => (isGuess && waitMs === 0 ? attempts.end(source, hasFailed) : undefined),
    async succeeded(userId, res) {
      report('succeeded', userId)
      res.append('Set-Cookie', cookies.write('device', deviceValue(parts, account, device), DEVICE_SEC))
      const userMark = account.userId === userId ? account.userMark : await parts.revocations.markOf(userId)
      return { userId, ...(userMark !== undefined && { userMark }) }
    },
    report,
  }
}

/** What came of a name and a password. */
export type PasswordCheck =
  | { readonly outcome: 'succeeded'; readonly user: User; readonly attempt: LoginAttempt }
  | { readonly outcome: 'failed' }
  | { readonly outcome: 'refused'; readonly refusal: LoginRefusal }
  | { readonly outcome: 'locked'; readonly waitMs: number }
  /** Nothing was checked, and nothing counts. */
  | { readonly outcome: 'busy'; readonly retryAfterSec: number }

const LONGEST_USERNAME = 256
/** Codes of errors that say why a user may not sign in. */
const REFUSALS = ['not_verified', 'blocked', 'login_refused']

/**
 * Checks a password, unless too many attempts have failed before.
 *
 * @param username as typed, and so is the password: no text at all is a wrong one
 * @throws what the directory throws; nothing counts then
 */
export async function checkPassword(
  parts: Parts,
  req: Request,
  clientId: string,
  username: unknown,
  password: unknown,
): Promise<PasswordCheck> {
  const isText = isName(username) && typeof password === 'string' && !password.includes('\0')
  let attempt: LoginAttempt | undefined
  let answer: User | LoginRefusal | undefined
  let hasFailed = false
  try {
    attempt = await beginLogin(parts, req, clientId, isText ? username : '')
    const { waitMs, network } = attempt
    if (waitMs > 0) {
      attempt.report('locked')
      return { outcome: 'locked', waitMs }
    }
    const check = () => (isText ? parts.users.authenticate(username, password) : undefined)
    answer = await requestNetwork.run(network, check)
    if (answer && !('refused' in answer)) return { outcome: 'succeeded', user: answer, attempt }
    hasFailed = true
  } catch (err) {
    if (err instanceof DirectoryBusyError) return { outcome: 'busy', retryAfterSec: err.retryAfterSec }
    answer = refusalIn(err)
    if (!answer) throw err
    hasFailed = true
  } finally {
    await attempt?.end(hasFailed)
  }
  attempt?.report(answer ? 'refused' : 'failed')
  return answer ? { outcome: 'refused', refusal: answer } : { outcome: 'failed' }
}

function isName(username: unknown): username is string {
  return typeof username === 'string' && username.length <= LONGEST_USERNAME && !/\p{Cc}/u.test(username)
}

/** The reason of an error by which `authenticate()` says that a user may not sign in. */
function refusalIn(err: unknown): LoginRefusal | undefined {
  const { code, message } = (err ?? {}) as { code?: unknown; message?: unknown }
  return REFUSALS.some((one) => one === code) && typeof message === 'string' ? { refused: message } : undefined
}

/** A name that nobody has costs the same calls to the store. */
async function accountOf({ users, revocations }: Parts, username: string): Promise<Account> {
  const userId = username === '' ? undefined : await users.findAccount(username)
  const userMark = await revocations.markOf(userId ?? username)
  if (userId === undefined) return { name: `name ${foldedUsername(username)}`, userId, userMark: undefined }
  return { name: `id ${userId}\n${userMark ?? ''}`, userId, userMark }
}

/** For people: whole minutes, rounded up. */
export function minutesOf(ms: number): number {
  return Math.ceil(ms / 60_000)
}

/** Bytes of a device's id, and of the signature behind it: together 43 base64url characters. */
const [ID_BYTES, TAG_BYTES] = [12, 20]
const DEVICE_SEC = 400 * 24 * 60 * 60

/**
 * The id of the device, if this user signed in from it before: its cookie names the device, signed together with the account.
 * Such a device keeps a budget of its own when strangers have locked the account.
 */
function knownDevice({ cookies, seal }: Parts, req: Request, account: Account): string | undefined {
  const cookie = Buffer.from(cookies.read(req.headers.cookie, 'device') ?? '', 'base64url')
  const id = cookie.toString('base64url', 0, ID_BYTES)
  return seal.isTag('device', `${id}\n${account.name}`, cookie.subarray(ID_BYTES)) ? id : undefined
}

/**
 * The cookie that makes the device known for this user. Each login renews it, with the key of the day: it holds for as long as
 * that key is among the signing keys.
 *
 * @param known the device's id, if it has one
 */
function deviceValue({ seal }: Parts, account: Account, known: string | undefined): string {
  const id = known === undefined ? randomBytes(ID_BYTES) : Buffer.from(known, 'base64url')
  const tag = seal.tag('device', `${id.toString('base64url')}\n${account.name}`, TAG_BYTES)
  return Buffer.concat([id, tag]).toString('base64url')
}

import { randomBytes } from 'node:crypto'
import type { Request, Response } from 'express'
import { clientNetwork } from '../../http/request/client-network'
import { type LoginMessage, publish } from '../diagnostics'
import { QueueFullError } from '../directories/hash-slots'
import { foldedUsername } from '../directories/user'
import type { Uses } from '../parts'

/** An account, for counting login attempts. */
interface Account {
  /** The same for every spelling and alias that finds it. */
  readonly name: string
  readonly userId: string | undefined
  /** Read before the password is checked: a revocation in between ends this login, too. */
  readonly userMark: string | undefined
}

/** A login that is counted. */
export interface LoginAttempt {
  readonly network: string
  /** Milliseconds to wait, if there were too many attempts; else 0. */
  readonly waitMs: number
  /** Takes the count back: the password was not checked. Not for the network whose flood filled the queue. */
  notChecked(err: unknown): Promise<void>
  /** Takes the count back, makes the device known for the user, and returns the user's mark. */
  succeeded(userId: string, res: Response): Promise<string | undefined>
  /** Tells the app. */
  report(outcome: LoginMessage['outcome'], userId?: string): void
}

type Parts = Uses<'attempts' | 'cookies' | 'loginEvents' | 'revocations' | 'seal' | 'users'>

/** Counts an attempt to sign in, by the account, the network or the device. */
export async function beginLogin(
  parts: Parts,
  req: Request,
  clientId: string,
  username: string,
): Promise<LoginAttempt> {
  const { attempts, cookies, seal } = parts
  const account = await accountOf(parts, username)
  const device = knownDevice(parts, req, account)
  const network = clientNetwork(req)
  const source = { account: account.name, network, deviceId: device }
  const shown = (text: string) =>
    parts.loginEvents === 'plain' ? text : seal.tag('event', text, 16).toString('base64url')
  return {
    network,
    waitMs: await attempts.begin(source),
    notChecked: (err) => attempts.takeBack(source, err instanceof QueueFullError),
    async succeeded(userId, res) {
      await attempts.takeBack(source)
      res.append('Set-Cookie', cookies.write('device', deviceValue(parts, account, device), DEVICE_SEC))
      return account.userId === userId ? account.userMark : parts.revocations.markOf(userId)
    },
    report: (outcome, userId) =>
      publish('login', { clientId, outcome, userId, account: shown(username), address: shown(network) }),
  }
}

/** A name that nobody has costs the same calls to the store. */
async function accountOf({ users, revocations }: Parts, username: string): Promise<Account> {
  const userId = username === '' ? undefined : await users.findAccount(username)
  const userMark = await revocations.markOf(userId ?? username)
  if (userId === undefined) return { name: `name ${foldedUsername(username)}`, userId, userMark: undefined }
  return { name: `id ${userId}`, userId, userMark }
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
  return seal.isTag('device', signedText(id, account), cookie.subarray(ID_BYTES)) ? id : undefined
}

/**
 * The cookie that makes the device known for this user. Each login renews it, with the key of the day: it holds for as long as
 * that key is among the signing keys.
 *
 * @param known the device's id, if it has one
 */
function deviceValue({ seal }: Parts, account: Account, known: string | undefined): string {
  const id = known === undefined ? randomBytes(ID_BYTES) : Buffer.from(known, 'base64url')
  const tag = seal.tag('device', signedText(id.toString('base64url'), account), TAG_BYTES)
  return Buffer.concat([id, tag]).toString('base64url')
}

/** With the user's mark: after `revokeUser()` no device is known. */
function signedText(id: string, { name, userMark = '' }: Account): string {
  return `${id}\n${name}\n${userMark}`
}

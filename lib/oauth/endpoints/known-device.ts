import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import type { ServerContext } from '../server-context'
import type { Account } from './login'

/** Bytes of a device's id, and of the signature behind it: together 43 base64url characters. */
const [ID_BYTES, TAG_BYTES] = [12, 20]
const LIFETIME_SEC = 400 * 24 * 60 * 60

/**
 * The id of the device, if this user signed in from it before: its cookie names the device, signed together with the account.
 * Such a device keeps a budget of its own when strangers have locked the account.
 */
export function knownDevice(ctx: ServerContext, req: Request, account: Account): string | undefined {
  const cookie = Buffer.from(ctx.cookies.read(req.headers.cookie, 'device') ?? '', 'base64url')
  const id = cookie.toString('base64url', 0, ID_BYTES)
  return ctx.seal.isTag('device', signedText(id, account), cookie.subarray(ID_BYTES)) ? id : undefined
}

/**
 * The `Set-Cookie` field that makes the device known for this user. Each login renews it, with the key of the day: it holds
 * for as long as that key is among the signing keys.
 *
 * @param known the device's id, if it has one
 */
export function deviceCookie(ctx: ServerContext, account: Account, known: string | undefined): string {
  const id = known === undefined ? randomBytes(ID_BYTES) : Buffer.from(known, 'base64url')
  const tag = ctx.seal.tag('device', signedText(id.toString('base64url'), account), TAG_BYTES)
  return ctx.cookies.write('device', Buffer.concat([id, tag]).toString('base64url'), LIFETIME_SEC)
}

/** With the user's mark: after `revokeUser()` no device is known. */
function signedText(id: string, { name, userMark = '' }: Account): string {
  return `${id}\n${name}\n${userMark}`
}

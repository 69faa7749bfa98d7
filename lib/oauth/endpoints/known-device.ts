import { randomBytes } from 'node:crypto'
import type { Request } from 'express'
import type { ServerContext } from '../server-context'
import { foldedUsername } from '../directories/user'

/** Bytes of a device's id, and of the signature behind it: together 43 base64url characters. */
const [ID_BYTES, TAG_BYTES] = [12, 20]
const LIFETIME_SEC = 400 * 24 * 60 * 60

/**
 * The id of the device, if this user signed in from it before: its cookie names the device, signed together with the user
 * name. Such a device keeps a budget of its own when strangers have locked the account.
 */
export function knownDevice(ctx: ServerContext, req: Request, username: string): string | undefined {
  const cookie = Buffer.from(ctx.cookies.read(req.headers.cookie, 'device') ?? '', 'base64url')
  const id = cookie.toString('base64url', 0, ID_BYTES)
  return ctx.seal.isTag('device', signedText(id, username), cookie.subarray(ID_BYTES)) ? id : undefined
}

/** The `Set-Cookie` field that makes the device known for this user. */
export function deviceCookie(ctx: ServerContext, username: string): string {
  const id = randomBytes(ID_BYTES)
  const tag = ctx.seal.tag('device', signedText(id.toString('base64url'), username), TAG_BYTES)
  return ctx.cookies.write('device', Buffer.concat([id, tag]).toString('base64url'), LIFETIME_SEC)
}

function signedText(id: string, username: string): string {
  return `${id}\n${foldedUsername(username)}`
}

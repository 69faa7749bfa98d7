import type { Request, Response } from 'express'
import { readCookie } from '../http/request/read-cookie'
import { newSecret, sameSecret } from '../http/secret'
import { isUrl, knownUrl } from '../http/url'

const COOKIE = 'tollgate-dashboard'

/** The token that the page sends back with what it asks for; the cookie that proves it is set where there is none. */
export function csrfToken(req: Request, res: Response): string {
  const known = readCookie(req.headers.cookie, COOKIE)
  const token = known ?? newSecret()
  res.append('Set-Cookie', `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Strict${req.secure ? '; Secure' : ''}`)
  return token
}

/**
 * Whether our own page has sent the request: the browser says so itself, and the token is the cookie's. Where a browser
 * says neither `Sec-Fetch-Site` nor `Origin`, it is not.
 */
export function isOwnRequest(req: Request): boolean {
  const [cookie, token] = [readCookie(req.headers.cookie, COOKIE), req.get('X-CSRF-Token')]
  return isSameOrigin(req) && cookie !== undefined && token !== undefined && sameSecret(cookie, token)
}

function isSameOrigin(req: Request): boolean {
  const site = req.get('Sec-Fetch-Site')
  if (site !== undefined && site !== 'same-origin') return false
  if (site !== undefined) return true // by the browser's word alone: a proxy may have changed Host
  const origin = req.get('Origin')
  if (origin === undefined || !isUrl(origin)) return false
  return [req.get('Host'), publicHost(req)].some((host) => isHostOf(host, knownUrl(origin)))
}

/** The host that the browser asked for, where a trusted proxy says so: `req.host` of Express 5, which 4 has without its port. */
function publicHost(req: Request): string | undefined {
  const trusts = req.app.get('trust proxy fn') as (address: string | undefined, hop: number) => boolean
  return trusts(req.socket.remoteAddress, 0) ? req.get('X-Forwarded-Host')?.split(',', 1)[0]?.trim() : undefined
}

/** Browsers leave out the usual port of the scheme; proxies may name it. */
function isHostOf(host: string | undefined, { protocol, origin }: URL): boolean {
  const url = `${protocol}//${host}`
  return host !== undefined && isUrl(url) && knownUrl(url).origin === origin
}

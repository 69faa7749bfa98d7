import type { Request, Response } from 'express'
import { forwardedHost } from '../http/request/client-network'
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
  return [req.get('Host'), forwardedHost(req)].some((host) => isHostOf(host, knownUrl(origin)))
}

/** Browsers leave out the usual port of the scheme; proxies may name it. */
function isHostOf(host: string | undefined, { protocol, origin }: URL): boolean {
  const url = `${protocol}//${host}`
  return host !== undefined && isUrl(url) && knownUrl(url).origin === origin
}

import type { Request, Response } from 'express'
import type { Params } from '../parameters/params'
import type { ServerContext } from '../server-context'

/** A longer URL fails in some proxies. */
const LONGEST_QUERY = 4_000

/**
 * Redirects a form that another site posted to the same request by GET, and tells whether it did. Browsers send no
 * `Lax` cookie with such a POST, so a signed-in user would look signed out. The GET that follows has the cookie.
 */
export function askAgainByGet(
  ctx: ServerContext,
  path: '/authorization' | '/logout',
  params: Params,
  req: Request,
  res: Response,
): boolean {
  const isForeign = /^(cross|same)-site$/.test(req.headers['sec-fetch-site']?.toString() ?? '')
  if (req.method !== 'POST' || !isForeign || ctx.cookies.read(req.headers.cookie, 'session') !== undefined) return false
  const query = params.toString()
  if (query.length > LONGEST_QUERY) return false
  res.status(303).setHeader('Location', `${ctx.issuer}${path}?${query}`).end()
  return true
}

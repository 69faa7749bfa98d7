import type { IncomingMessage } from 'node:http'
import { usageError } from '../http/help'
import { bearerCheckOf } from './request-session'
import type { Session } from './session/session'

/**
 * The session of a request, for handlers that need one. It is the session that `requireBearer()` let in, even if
 * another package has written to `req.auth` since.
 *
 * @example app.get('/me', (req, res) => res.json({ sub: sessionOf(req).sub }))
 * @throws {TypeError} if no `requireBearer()` ran before, or if `optional: true` let the request in without a token;
 *   read `req.auth` there
 */
export function sessionOf(req: IncomingMessage): Session {
  const check = bearerCheckOf(req)
  if (check === undefined) {
    throw usageError('sessionOf(req) found no session: mount requireBearer() before this handler')
  }
  if (check.session === undefined) {
    throw usageError(
      'sessionOf(req) found no session: requireBearer({ optional: true }) let the request in without a token; ' +
        'read req.auth, which may be undefined',
    )
  }
  return check.session
}

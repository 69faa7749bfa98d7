import type { IncomingMessage } from 'node:http'
import { usageError } from '../http/help'
import { bearerCheckOf } from './request-session'
import type { Session } from './session/session'

// The type that MCP's SDK gives `req.auth`, in its versions 1 and 2; `any` where that version is not installed.
/* eslint-disable @typescript-eslint/ban-ts-comment */
/** @ts-ignore */
type McpAuthInfo1 = import('@modelcontextprotocol/sdk/server/auth/types.js').AuthInfo
/** @ts-ignore */
type McpAuthInfo2 = import('@modelcontextprotocol/server').AuthInfo
/* eslint-enable @typescript-eslint/ban-ts-comment */

/**
 * What {@link Session} may also be where MCP's SDK declares `req.auth` of its own: TypeScript accepts the two declarations
 * only if the SDK's type fits into ours. `sessionOf(req)` returns our session then.
 */
type OwnOfSession = { kind?: undefined; issuer?: undefined; sub?: undefined; userId?: undefined }
// eslint-disable-next-line -- any: what a session always has must not become optional
type FitsSession = OwnOfSession & { scope?: any; claims?: any; signal?: any }
type McpSession<AuthInfo> = { of: 'any' } extends { of: AuthInfo } ? never : AuthInfo & FitsSession

/**
 * Properties that `express-tollgate` adds to Express's `Request`. If another package or the app declares `auth` on the
 * global `Express.Request`, that declaration is kept, and `sessionOf(req)` returns our session.
 */
type SessionProperty = 'auth' extends keyof Express.Request ? object : AuthenticatedRequest

/** The property that `requireBearer()` sets. */
interface AuthenticatedRequest {
  /**
   * The session that `requireBearer()` let in. Undefined if none has run, or if `optional: true` let the request in
   * without a token. `sessionOf(req)` returns the same, and throws if there is none.
   */
  // eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents, @typescript-eslint/no-duplicate-type-constituents -- never only without the SDK
  auth?: Session | McpSession<McpAuthInfo1> | McpSession<McpAuthInfo2>
}

// Not on the global `Express.Request`: two declarations of one property there do not compile. This interface extends
// that one, so it can see what others have declared.
declare module 'express-serve-static-core' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type
  interface Request extends SessionProperty {}
}

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
    throw usageError('sessionOf(req) found no session in the request: mount requireBearer() before this handler')
  }
  if (check.session === undefined) {
    throw usageError(
      'sessionOf(req) found no session: requireBearer({ optional: true }) let the request in without a token; ' +
        'read req.auth, which may be undefined',
    )
  }
  return check.session
}

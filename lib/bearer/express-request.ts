import type { Session } from './session/session'

/**
 * What `express-tollgate` adds to Express's `Request`. Where another package or the app itself declares `auth` on the
 * global `Express.Request`, that declaration stays as it is, and `sessionOf(req)` has our session.
 */
export type SessionProperty = 'auth' extends keyof Express.Request ? object : AuthenticatedRequest

/** The property that `requireBearer()` sets. */
export interface AuthenticatedRequest {
  /**
   * The session that `requireBearer()` let in. Undefined where none has run, and where `optional: true` let the request
   * in without a token. `sessionOf(req)` is the same, and throws where there is none.
   */
  auth?: Session
}

// Not on the global `Express.Request`: two declarations of one property there do not compile. This interface extends
// that one, so it can see what others have declared.
declare module 'express-serve-static-core' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type
  interface Request extends SessionProperty {}
}

// Declares what is added to Express's `Request`; express-tollgate/bearer alone adds nothing to it.
export type { AuthenticatedRequest, SessionProperty } from './bearer/express-request'
export * from './bearer/index'
export * from './throttle/index'

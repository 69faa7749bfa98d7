// Declares what is added to Express's `Request`; express-tollgate/bearer alone adds nothing to it.
export type { AuthenticatedRequest, SessionProperty } from './bearer/express-request'
export type * from './bearer'
export type * from './throttle'
// By name: not every loader of ES modules sees through two levels of `export *`.
export {
  requireBearer,
  allowUnauthenticated,
  requireScope,
  requireStepUp,
  protectedResource,
  redisRevocations,
  redisProofs,
  sessionOf,
  InsufficientScopeError,
  InvalidRequestError,
  UnauthorizedError,
  UnavailableError,
  processingTime,
  serviceUnavailable,
} from './bearer'
export { throttle, throttleTest, redisStore, addressSubject, budgetOf, ThrottledError } from './throttle'

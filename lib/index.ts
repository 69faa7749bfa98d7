// Public names, in the order of the README. Values stand by name: not every loader of ES modules sees through `export *`.
// A type stands here if an app has to name it, to annotate its own options, functions and listeners.

export { requireBearer, type BearerHandler } from './bearer/require-bearer'
export { allowUnauthenticated } from './bearer/allow-unauthenticated'
export { requireScope } from './bearer/require-scope'
export { requireStepUp } from './bearer/require-step-up'
export { protectedResource, type ProtectedResourceOptions } from './bearer/protected-resource'
export { sessionOf } from './bearer/session-of'
export {
  redisRevocations,
  type RedisRevocations,
  type RedisRevocationsOptions,
} from './bearer/revocation/redis-revocations'
export { redisProofs, type RedisProofs } from './bearer/dpop/redis-proofs'
export type { BearerOptions } from './bearer/bearer-options'
export type { Audience } from './bearer/claims/claim-options'
export type { FindKey, KeyMaterial } from './bearer/keys/key-options'
export type { Algorithm } from './bearer/keys/algorithm'
export type { IssuerOptions } from './bearer/issuers/trusted-issuer'
export type { IntrospectionOptions } from './bearer/issuers/introspection'
export type { RevocationSource } from './bearer/revocation/revocation-source'
export type { DpopOptions } from './bearer/dpop/dpop-check'
export type { BearerMessage } from './bearer/diagnostics'
export type { TokenSource } from './bearer/credentials/token-sources'
export type { Reason } from './bearer/refusal/refusal'
export type {
  Claims,
  ClientSession,
  ReadSession,
  Session,
  UnauthenticatedSession,
  UserSession,
} from './bearer/session/session'

export { throttle, type Throttle } from './throttle/throttle'
export { budgetOf } from './throttle/request/shown-budget'
export { addressSubject } from './throttle/subject'
export { throttleTest } from './throttle/throttle-test'
export { redisStore, type RedisStoreOptions } from './throttle/redis/redis-store'
export type { OverloadOptions, RouteWindow, ThrottleHeaders, ThrottleOptions } from './throttle/options'
export type { RequestBudget } from './throttle/request/shown-budget'
export type { ThrottleStore } from './throttle/store/store'
export type { Usage } from './throttle/usage'
export type { Advice } from './advisor/advice'
export type {
  AdmittedMessage,
  ChargedMessage,
  OverloadMessage,
  RefusedMessage,
  StoreMessage,
  SyncedMessage,
} from './throttle/events'

export { processingTime } from './http/measure/processing-time'
export { serviceUnavailable, type ServiceUnavailableOptions } from './http/answer/service-unavailable'
export type { Dialect } from './http/answer/dialect'
export type { DenyOptions, OnDenied } from './http/answer/deny'
export type { ErrorFormat } from './http/answer/error-format'
export type { FetchFunction } from './http/fetch/fetch-json'
export type { Middleware } from './http/middleware'
export type { Clock } from './http/clock'
export type { RedisClient } from './redis/redis-client'

export {
  InsufficientScopeError,
  InvalidRequestError,
  ThrottledError,
  UnauthorizedError,
  UnavailableError,
  type DenialError,
  type RefusalFigures,
} from './errors'

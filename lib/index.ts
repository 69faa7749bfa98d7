export { requireBearer, type BearerHandler } from './bearer/require-bearer'
export type {
  BearerOptions,
  IssuerOptions,
  IssuersOptions,
  KeyMaterial,
  KeyOptions,
  OpaqueOptions,
  TokenOptions,
} from './bearer/bearer-options'
export { allowUnauthenticated, type AllowUnauthenticatedOptions } from './bearer/allow-unauthenticated'
export { requireScope } from './bearer/require-scope'
export { requireAuthentication, type AuthenticationOptions } from './bearer/require-authentication'
export {
  protectedResource,
  type ProtectedResourceOptions,
  type ProtectedResourceRouter,
} from './bearer/protected-resource'
export type { IntrospectionOptions } from './bearer/issuers/introspection'
export type { VerifyToken } from './bearer/issuers/custom-verifier'
export {
  redisRevocations,
  type RedisRevocations,
  type RedisRevocationsOptions,
} from './bearer/revocation/redis-revocations'
export type { Revocations } from './bearer/revocation/revocations'
export type { DpopOptions } from './bearer/dpop/dpop-check'
export { redisProofs, type RedisProofs, type RedisProofsOptions } from './bearer/dpop/redis-proofs'
export type { Seen, SeenProofs } from './bearer/dpop/seen-proofs'
export type { BearerEvent } from './bearer/diagnostics'
export type { Placement } from './bearer/credentials/credentials'
export type { ScopeNeeded } from './bearer/session/scope'
export type {
  Auth,
  Claims,
  ClientSession,
  Session,
  SessionIdentity,
  UnauthenticatedMark,
  UnauthenticatedSession,
  UserSession,
} from './bearer/session/session'
export type { Algorithm } from './bearer/keys/algorithm'
export type { JsonObject } from './http/json'
export type { Jwk } from './bearer/keys/verify-key'
export type { Reason } from './bearer/refusal'

export type {} from './throttle/request/express-request'

export { throttle, type Throttle } from './throttle/throttle'
export type { RouteWindow, ThrottleOptions } from './throttle/throttle-options'
export type { ThrottleHeaders } from './throttle/request/response-headers'
export type { LimitMs } from './throttle/window-policy'
export type { RequestBudget } from './throttle/request/request-charges'
export type {
  AdmittedMessage,
  ChargedMessage,
  RefusedMessage,
  StoreMessage,
  SyncedMessage,
} from './throttle/diagnostics'
export type { Usage } from './throttle/usage'
export { throttleTest } from './throttle/throttle-test'
export { redisStore, type RedisStoreOptions } from './throttle/redis/redis-store'
export type { RedisClient } from './redis/redis-client'
export type { StoreShard, StoreWatcher, ThrottleStore } from './throttle/sync/store'
export type { SyncCommand, SyncFigures, SyncReply } from './throttle/sync/sync-protocol'

export { processingTime, type ProcessingTimeOptions } from './http/processing-time'
export { serviceUnavailable, type ServiceUnavailableOptions } from './http/service-unavailable'

export {
  InsufficientScopeError,
  InvalidRequestError,
  ThrottledError,
  UnauthorizedError,
  UnavailableError,
  type Denial,
  type DenialError,
  type DenialHeaders,
} from './errors'
export type { Clock } from './http/clock'
export type { DenyOptions, OnDenied } from './http/deny'
export type { ErrorForm, ErrorFormat, ErrorFormatOption } from './http/error-format'

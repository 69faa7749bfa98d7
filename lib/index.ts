// Public names, in the order of the README. Values stand by name: not every loader of ES modules sees through `export *`.

export { requireBearer, type BearerHandler } from './bearer/require-bearer'
export { allowUnauthenticated, type AllowUnauthenticatedOptions } from './bearer/allow-unauthenticated'
export { requireScope } from './bearer/require-scope'
export { requireStepUp, type StepUpOptions } from './bearer/require-step-up'
export {
  protectedResource,
  type ProtectedResourceOptions,
  type ProtectedResourceRouter,
} from './bearer/protected-resource'
export { sessionOf } from './bearer/session-of'
export {
  redisRevocations,
  type RedisRevocations,
  type RedisRevocationsOptions,
} from './bearer/revocation/redis-revocations'
export { redisProofs, type RedisProofs, type RedisProofsOptions } from './bearer/dpop/redis-proofs'
export type { BearerOptions } from './bearer/bearer-options'
export type { Audience, RequiredValues, TokenOptions } from './bearer/claims/claim-options'
export type { Tenants } from './bearer/claims/tenants'
export type { FindKey, Jwk, KeyAbout, KeyMaterial, KeyOptions, Secret } from './bearer/keys/key-options'
export type { Algorithm } from './bearer/keys/algorithm'
export type { IssuerOptions } from './bearer/issuers/trusted-issuer'
export type { IssuerKey, KeyControl } from './bearer/issuers/token-verifier'
export type { IntrospectionOptions } from './bearer/issuers/introspection'
export type { VerifyToken } from './bearer/issuers/opaque-tokens'
export type { RevocationSource } from './bearer/revocation/revocation-source'
export type { DpopOptions } from './bearer/dpop/dpop-check'
export type { BearerEvent } from './bearer/diagnostics'
export type { Placement } from './bearer/credentials/credentials'
export type { ReadToken, TokenSource } from './bearer/credentials/token-sources'
export type { ScopeNeeded } from './bearer/session/scope'
export type { ClaimPath } from './bearer/session/claim-path'
export type { Reason } from './bearer/refusal/refusal'
export type {
  Auth,
  CheckClaims,
  Claims,
  ClientSession,
  ReadSession,
  Session,
  SessionIdentity,
  TokenFacts,
  UnauthenticatedMark,
  UnauthenticatedSession,
  UserSession,
} from './bearer/session/session'
export type { AuthenticatedRequest, SessionProperty } from './bearer/express-request'

export { throttle, type AdviseOptions, type Throttle } from './throttle/throttle'
export { budgetOf } from './throttle/request/budget-of'
export { type AddressOptions, addressSubject } from './throttle/subject'
export { throttleTest } from './throttle/throttle-test'
export { redisStore, type RedisStoreOptions } from './throttle/redis/redis-store'
export type { LimitMs, OverloadOptions, RouteWindow, ThrottleOptions, WaitOptions } from './throttle/options'
export type { ThrottleHeaders } from './throttle/request/response-headers'
export type { EventStreams } from './http/measure/event-stream'
export type { BudgetJson, RequestBudget } from './throttle/request/budget'
export type { ThrottleStore } from './throttle/store/store'
export type { Usage } from './throttle/usage'
export type { Advice, LimitAdvice } from './advisor/advice'
export type { Bar } from './advisor/distribution'
export type {
  AdmittedMessage,
  ChargedMessage,
  OverloadMessage,
  RefusedMessage,
  StoreMessage,
  SyncedMessage,
} from './throttle/events'

export { processingTime, type ProcessingTimeOptions } from './http/measure/processing-time'
export { serviceUnavailable, type ServiceUnavailableOptions } from './http/answer/service-unavailable'
export type { Dialect } from './http/answer/dialect'
export type { DenyOptions, ErrorResponseOptions, OnDenied } from './http/answer/deny'
export type { ErrorForm, ErrorFormat, ErrorFormatOption } from './http/answer/error-format'
export type { FetchFunction, FetchInit, FetchedResponse } from './http/fetch/fetch-json'
export type { JsonObject } from './http/json'
export type { Middleware } from './http/middleware'
export type { Clock } from './http/clock'
export type { RedisClient } from './redis/redis-client'

export {
  InsufficientScopeError,
  InvalidRequestError,
  ThrottledError,
  UnauthorizedError,
  UnavailableError,
  type Denial,
  type DenialError,
  type DenialHeaders,
  type RefusalFigures,
} from './errors'

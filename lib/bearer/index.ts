export { requireBearer, type BearerHandler } from './require-bearer'
export type { BearerOptions } from './bearer-options'
export type { Audience, AudienceInstead, RequiredValues, TokenOptions } from './claims/claim-options'
export type { Tenants } from './claims/tenants'
export type { FindKey, Jwk, KeyMaterial, KeyOptions, Secret } from './keys/key-options'
export type { IssuerOptions } from './issuers/trusted-issuer'
export type { IssuerKey, KeyControl } from './issuers/token-verifier'
export type { CacheOptions, IntrospectedIssuerOptions, IssuersOptions, OpaqueOptions } from './issuers/verifier-options'
export { allowUnauthenticated, type AllowUnauthenticatedOptions } from './allow-unauthenticated'
export { requireScope } from './require-scope'
export { requireStepUp, type StepUpOptions } from './require-step-up'
export { protectedResource, type ProtectedResourceOptions, type ProtectedResourceRouter } from './protected-resource'
export type { IntrospectionOptions } from './issuers/introspection'
export type { VerifyToken } from './issuers/opaque-tokens'
export { redisRevocations, type RedisRevocations, type RedisRevocationsOptions } from './revocation/redis-revocations'
export type { RevocationSource } from './revocation/revocation-source'
export type { DpopOptions } from './dpop/dpop-check'
export { redisProofs, type RedisProofs, type RedisProofsOptions } from './dpop/redis-proofs'
export type { ProofUse, SeenProofs } from './dpop/seen-proofs'
export type { BearerEvent } from './diagnostics'
export type { Placement } from './credentials/credentials'
export type { ReadToken, TokenSource } from './credentials/token-sources'
export type { ScopeNeeded } from './session/scope'
export type { ClaimPath } from './session/claim-path'
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
} from './session/session'
export type { Algorithm } from './keys/algorithm'
export type { FetchFunction, FetchInit, FetchedResponse } from '../http/fetch/fetch-json'
export type { JsonObject } from '../http/json'
export type { Reason } from './refusal/refusal'
export type { RedisClient } from '../redis/redis-client'
export { sessionOf } from './session-of'

export {
  InsufficientScopeError,
  InvalidRequestError,
  UnauthorizedError,
  UnavailableError,
  type Denial,
  type DenialError,
  type DenialHeaders,
} from '../errors'
export { processingTime, type ProcessingTimeOptions } from '../http/measure/processing-time'
export { serviceUnavailable, type ServiceUnavailableOptions } from '../http/answer/service-unavailable'

export type { Clock } from '../http/clock'
export type { DenyOptions, ErrorResponseOptions, OnDenied } from '../http/answer/deny'
export type { Middleware } from '../http/middleware'
export type { Dialect } from '../http/answer/dialect'
export type { ErrorForm, ErrorFormat, ErrorFormatOption } from '../http/answer/error-format'

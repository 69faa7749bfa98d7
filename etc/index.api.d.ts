// Written by npm run api-report. Do not edit.
import { S as Session } from "./shared/trusted-issuer.js";
export { A as Audience, a as AudienceInstead, b as Auth, C as CheckClaims, c as ClaimPath, d as Claims, e as ClientSession, F as FetchFunction, f as FetchInit, g as FetchedResponse, I as IssuerOptions, K as KeyMaterial, h as KeyOptions, R as ReadSession, i as RequiredValues, j as SessionIdentity, T as Tenants, k as TokenFacts, l as TokenOptions, U as UnauthenticatedMark, m as UnauthenticatedSession, n as UserSession } from "./shared/trusted-issuer.js";
export { AllowUnauthenticatedOptions, AuthenticationOptions, BearerEvent, BearerHandler, BearerOptions, CacheOptions, DpopOptions, IntrospectedIssuerOptions, IntrospectionOptions, IssuerKey, IssuersOptions, OpaqueOptions, ProofUse, ProtectedResourceOptions, ProtectedResourceRouter, ReadToken, Reason, RedisProofs, RedisProofsOptions, RedisRevocations, RedisRevocationsOptions, RevocationSource, ScopeNeeded, SeenProofs, TokenSource, VerifyToken, allowUnauthenticated, protectedResource, redisProofs, redisRevocations, requireAuthentication, requireBearer, requireScope, sessionOf } from "./bearer/index.js";
export { P as Placement } from "./shared/credentials.js";
export { A as Algorithm, J as JsonObject, a as Jwk } from "./shared/verify-key.js";
export { R as RedisClient } from "./shared/redis-client.js";
export { D as Denial, a as DenialError, b as DenialHeaders, c as DenyOptions, E as ErrorForm, d as ErrorFormat, e as ErrorFormatOption, f as ErrorResponseOptions, I as InsufficientScopeError, g as InvalidRequestError, M as Middleware, O as OnDenied, R as RefusalFigures, T as ThrottledError, U as UnauthorizedError, h as UnavailableError } from "./shared/deny.js";
export { P as ProcessingTimeOptions, S as ServiceUnavailableOptions, p as processingTime, s as serviceUnavailable } from "./shared/service-unavailable.js";
export { C as Clock } from "./shared/clock.js";
export { D as Dialect } from "./shared/dialect.js";
export { A as Advice, a as AdviseOptions, B as Bar, E as EventStreams, L as LimitAdvice, b as LimitMs, R as RouteWindow, T as Throttle, c as ThrottleHeaders, d as ThrottleOptions, U as Usage, W as WaitOptions, t as throttle } from "./shared/throttle.js";
export { AdmittedMessage, BudgetJson, ChargedMessage, RedisStoreOptions, RefusedMessage, RequestBudget, StoreMessage, SyncedMessage, addressSubject, budgetOf, redisStore, throttleTest } from "./throttle/index.js";
export { A as Answer, a as AnswerFigures, B as Beat, R as Report, S as StoreServer, b as StoreWatcher, T as ThrottleStore, U as UsageStore } from "./shared/store.js";
import "node:crypto";
import "express";
import "node:http";
import "http-errors";
type SessionProperty = "auth" extends keyof Express.Request ? object : AuthenticatedRequest;
interface AuthenticatedRequest {
    auth?: Session;
}
declare module "express-serve-static-core" {
    interface Request extends SessionProperty {
    }
}
export { Session };
export type { AuthenticatedRequest, SessionProperty };

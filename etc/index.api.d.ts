// Written by npm run api-report. Do not edit.
import { D as DenyOptions, M as Middleware, a as ThrottleStore, E as ErrorResponseOptions } from "./shared/throttle.js";
export { A as AddressOptions, b as AdmittedMessage, c as Advice, d as AdviseOptions, B as Bar, C as ChargedMessage, e as Denial, f as DenialError, g as DenialHeaders, h as ErrorForm, i as ErrorFormat, j as ErrorFormatOption, k as EventStreams, I as InsufficientScopeError, l as InvalidRequestError, L as LimitAdvice, m as LimitMs, O as OnDenied, n as OverloadMessage, o as OverloadOptions, R as RefusalFigures, p as RefusedMessage, q as RouteWindow, S as StoreMessage, r as SyncedMessage, T as Throttle, s as ThrottleHeaders, t as ThrottleOptions, u as ThrottledError, U as UnauthorizedError, v as UnavailableError, w as Usage, W as WaitOptions, x as addressSubject, y as throttle } from "./shared/throttle.js";
import { C as Clock } from "./shared/clock.js";
import { Request, Router, ErrorRequestHandler } from "express";
import { P as Placement } from "./shared/credentials.js";
import { R as RedisClient } from "./shared/redis-client.js";
import { I as IssuerOptions } from "./shared/trusted-issuer.js";
export { A as Audience, C as ClaimPath, a as IntrospectionOptions, R as RequiredValues, T as Tenants, b as TokenOptions, V as VerifyToken } from "./shared/trusted-issuer.js";
import { S as Session, U as UnauthenticatedMark } from "./shared/session.js";
export { A as Auth, C as CheckClaims, a as Claims, b as ClientSession, R as ReadSession, c as SessionIdentity, T as TokenFacts, d as UnauthenticatedSession, e as UserSession } from "./shared/session.js";
import { A as Algorithm } from "./shared/key-options.js";
export { F as FindKey, J as Jwk, K as KeyAbout, a as KeyMaterial, b as KeyOptions, S as Secret } from "./shared/key-options.js";
import { D as Dialect } from "./shared/budget-of.js";
export { A as AuthenticatedRequest, B as BudgetJson, R as RequestBudget, S as SessionProperty, b as budgetOf } from "./shared/budget-of.js";
import { IncomingMessage } from "node:http";
export { F as FetchFunction, a as FetchInit, b as FetchedResponse } from "./shared/fetch-json.js";
export { J as JsonObject } from "./shared/json.js";
import "http-errors";
import "node:crypto";
type Reason = "no_token" | "malformed_credentials" | "several_tokens" | "malformed_token" | "critical_header" | "token_type" | "id_token" | "algorithm" | "unknown_key" | "signature" | "issuer" | "audience" | "expired" | "expiry" | "not_yet_valid" | "issued_at" | "too_old" | "subject" | "client" | "token_id" | "sender_constrained" | "required_claim" | "claim_check" | "session_kind" | "authentication" | "scope" | "unauthenticated_session" | "inactive" | "revoked" | "dpop_required" | "dpop_proof" | "dpop_nonce" | "dpop_binding" | "dpop_replay" | "keys_unavailable" | "introspection_unavailable" | "verify_unavailable" | "tenants_unavailable" | "revocation_unavailable" | "dpop_unavailable";
type ReadToken = (req: Request) => string | null | undefined;
type TokenSource = Placement | {
    readonly header: string;
    readonly padded?: boolean | undefined;
} | {
    readonly cookie: string;
} | ReadToken;
interface RedisProofsOptions {
    readonly prefix?: string | undefined;
}
interface RedisProofs {
    close(): void;
}
declare function redisProofs(to: RedisClient | string, options?: RedisProofsOptions): RedisProofs;
interface DpopOptions {
    readonly required?: boolean | undefined;
    readonly maxProofAgeSec?: number | undefined;
    readonly proofs?: RedisProofs | undefined;
    readonly maxProofs?: number | undefined;
    readonly nonceSecret?: string | Uint8Array | undefined;
    readonly origin?: string | readonly string[] | undefined;
}
interface KeyControl {
    ready(): Promise<void>;
    reload(): Promise<void>;
    keys(): readonly IssuerKey[];
}
interface IssuerKey {
    readonly issuer: string;
    readonly kid: string | undefined;
    readonly algorithms: readonly Algorithm[];
}
interface RevocationSource {
    state(session: Session): "valid" | "revoked" | {
        readonly unavailable: unknown;
    };
}
type ScopeNeeded = string | readonly string[] | {
    readonly any: readonly string[];
};
interface BearerOptions extends IssuerOptions, DenyOptions {
    readonly issuers?: readonly IssuerOptions[] | undefined;
    readonly cache?: {
        readonly maxTokens: number;
    } | false | undefined;
    readonly scope?: ScopeNeeded | undefined;
    readonly acr?: string | readonly string[] | undefined;
    readonly optional?: boolean | undefined;
    readonly tokenFrom?: TokenSource | readonly TokenSource[] | undefined;
    readonly dpop?: DpopOptions | boolean | undefined;
    readonly revocation?: RevocationSource | undefined;
    readonly realm?: string | undefined;
    readonly resourceMetadata?: string | undefined;
    readonly unauthenticated?: UnauthenticatedMark | undefined;
    readonly maxTokenLength?: number | undefined;
    readonly warnings?: boolean | undefined;
    readonly clock?: Clock | undefined;
}
interface BearerHandler extends Middleware, KeyControl {
    readonly check: (token: unknown, options?: {
        readonly resource?: string | undefined;
    }) => Promise<Session>;
}
declare function requireBearer(options?: BearerOptions): BearerHandler;
interface AllowUnauthenticatedOptions {
    readonly paths?: readonly string[] | undefined;
    readonly methods?: readonly string[] | undefined;
}
declare function allowUnauthenticated(options?: AllowUnauthenticatedOptions): Middleware;
interface ScopeOptions {
    readonly any?: readonly string[] | undefined;
    readonly dialect?: Dialect | undefined;
}
declare function requireScope(...scopes: readonly string[] | readonly [
    ...string[],
    ScopeOptions
]): Middleware;
interface StepUpOptions {
    readonly acr?: string | readonly string[] | undefined;
    readonly maxAgeSec?: number | undefined;
    readonly dialect?: Dialect | undefined;
}
declare function requireStepUp(options: StepUpOptions): Middleware;
interface ProtectedResourceOptions {
    readonly resource: string;
    readonly authorizationServers?: readonly string[] | undefined;
    readonly scopes?: readonly string[] | undefined;
    readonly name?: string | undefined;
    readonly documentation?: string | undefined;
    readonly bearerMethods?: readonly ("header" | "body" | "query")[] | undefined;
    readonly dpopRequired?: boolean | undefined;
    readonly metadata?: Readonly<Record<string, unknown>> | undefined;
    readonly allowHttp?: boolean | undefined;
}
type ProtectedResourceRouter = Router & {
    readonly url: string;
};
declare function protectedResource(options: ProtectedResourceOptions): ProtectedResourceRouter;
declare function sessionOf(req: IncomingMessage): Session;
interface RedisRevocationsOptions {
    readonly prefix?: string | undefined;
    readonly tokenLifetimeSec?: number | undefined;
    readonly maxOutageMs?: number | undefined;
    readonly onOutage?: "closed" | "open" | undefined;
    readonly clock?: Clock | undefined;
}
interface RedisRevocations extends RevocationSource {
    revokeToken(issuer: string, id: string): Promise<void>;
    revokeSubject(issuer: string, sub: string, beforeSec?: number): Promise<void>;
    revokeClient(issuer: string, clientId: string, beforeSec?: number): Promise<void>;
    ready(): Promise<void>;
    close(): void;
}
declare function redisRevocations(to: RedisClient | string, options?: RedisRevocationsOptions): RedisRevocations;
interface BearerEvent {
    readonly request: Request | undefined;
    readonly session: Session | undefined;
    readonly reason: Reason | undefined;
    readonly cause: unknown;
}
declare function throttleTest(options?: DenyOptions): Middleware;
interface RedisStoreOptions {
    readonly prefix?: string | undefined;
    readonly names?: boolean | undefined;
    readonly hashKey?: string | Uint8Array | undefined;
    readonly deadlineMs?: number | undefined;
}
declare function redisStore(to: RedisClient | string, options?: RedisStoreOptions): ThrottleStore;
interface ProcessingTimeOptions {
    readonly clock?: Clock | undefined;
}
declare function processingTime(options?: ProcessingTimeOptions): Middleware;
interface ServiceUnavailableOptions extends ErrorResponseOptions {
    readonly retryAfterSec?: number | undefined;
    readonly log?: ((err: unknown, req: Request) => unknown) | undefined;
}
declare function serviceUnavailable(options?: ServiceUnavailableOptions): ErrorRequestHandler;
export { Algorithm, Clock, DenyOptions, Dialect, ErrorResponseOptions, IssuerOptions, Middleware, Placement, RedisClient, Session, ThrottleStore, UnauthenticatedMark, allowUnauthenticated, processingTime, protectedResource, redisProofs, redisRevocations, redisStore, requireBearer, requireScope, requireStepUp, serviceUnavailable, sessionOf, throttleTest };
export type { AllowUnauthenticatedOptions, BearerEvent, BearerHandler, BearerOptions, DpopOptions, IssuerKey, KeyControl, ProcessingTimeOptions, ProtectedResourceOptions, ProtectedResourceRouter, ReadToken, Reason, RedisProofs, RedisProofsOptions, RedisRevocations, RedisRevocationsOptions, RedisStoreOptions, RevocationSource, ScopeNeeded, ServiceUnavailableOptions, StepUpOptions, TokenSource };

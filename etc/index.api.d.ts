// Written by npm run api-report. Do not edit.
import { D as DenyOptions, M as Middleware, R as Reason, a as RefusalFigures, b as ThrottleStore, E as ErrorResponseOptions } from "./shared/throttle.js";
export { A as AddressOptions, c as Advice, d as AdviseOptions, B as Bar, e as Denial, f as DenialError, g as DenialHeaders, h as ErrorForm, i as ErrorFormat, j as ErrorFormatOption, k as EventStreams, I as InsufficientScopeError, l as InvalidRequestError, L as LimitAdvice, m as LimitMs, O as OnDenied, n as OverloadOptions, o as RouteWindow, T as Throttle, p as ThrottleHeaders, q as ThrottleOptions, r as ThrottledError, U as UnauthorizedError, s as UnavailableError, t as Usage, W as WaitOptions, u as addressSubject, v as throttle } from "./shared/throttle.js";
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
import "node:crypto";
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
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
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
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
declare function redisRevocations(to: RedisClient | string, options?: RedisRevocationsOptions): RedisRevocations;
interface BearerEvent {
    readonly request: Request | undefined;
    readonly session: Session | undefined;
    readonly reason: Reason | undefined;
    readonly cause: unknown;
}
declare function throttleTest(options?: DenyOptions): Middleware;
interface AdmittedMessage {
    readonly req: Request;
    readonly subject: string;
    readonly window: string;
    readonly holdMs: number;
    readonly degraded: boolean;
}
interface RefusedMessage {
    readonly req: Request;
    readonly subject: string;
    readonly window: string;
    readonly status: 429 | 503;
    readonly reason: "spent" | "reserved" | "concurrency" | "queue" | "outage" | "overload";
    readonly figures: RefusalFigures | undefined;
    readonly retryAfterSec: number;
    readonly dryRun: boolean;
}
interface ChargedMessage {
    readonly req: Request;
    readonly subject: string;
    readonly window: string;
    readonly ms: number;
    readonly holdMs: number;
    readonly by: "request" | "charge";
}
interface SyncedMessage {
    readonly window: string;
    readonly latencyMs: number;
}
interface StoreMessage {
    readonly store: object;
    readonly server: string | undefined;
    readonly cause?: unknown;
}
interface OverloadMessage {
    readonly share: number;
    readonly delayMs: number;
    readonly refused: number;
}
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
export { Algorithm, Clock, DenyOptions, Dialect, ErrorResponseOptions, IssuerOptions, Middleware, Placement, Reason, RedisClient, RefusalFigures, Session, ThrottleStore, UnauthenticatedMark, allowUnauthenticated, processingTime, protectedResource, redisProofs, redisRevocations, redisStore, requireBearer, requireScope, requireStepUp, serviceUnavailable, sessionOf, throttleTest };
export type { AdmittedMessage, AllowUnauthenticatedOptions, BearerEvent, BearerHandler, BearerOptions, ChargedMessage, DpopOptions, IssuerKey, KeyControl, OverloadMessage, ProcessingTimeOptions, ProtectedResourceOptions, ProtectedResourceRouter, ReadToken, RedisProofs, RedisProofsOptions, RedisRevocations, RedisRevocationsOptions, RedisStoreOptions, RefusedMessage, RevocationSource, ScopeNeeded, ServiceUnavailableOptions, StepUpOptions, StoreMessage, SyncedMessage, TokenSource };

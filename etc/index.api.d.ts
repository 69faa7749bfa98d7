// Written by npm run api-report. Do not edit.
import { D as DenyOptions, M as Middleware, R as Reason, a as RefusalFigures, b as ThrottleStore } from "./shared/throttle.js";
export { A as Advice, c as DenialError, E as ErrorFormat, I as InsufficientScopeError, d as InvalidRequestError, O as OnDenied, e as OverloadOptions, f as RouteWindow, T as Throttle, g as ThrottleHeaders, h as ThrottleOptions, i as ThrottledError, U as UnauthorizedError, j as UnavailableError, k as Usage, t as throttle } from "./shared/throttle.js";
import { D as Dialect } from "./shared/shown-budget.js";
export { R as RequestBudget, b as budgetOf, s as sessionOf } from "./shared/shown-budget.js";
import { C as Clock } from "./shared/clock.js";
import { Request, Router, ErrorRequestHandler } from "express";
import { R as RedisClient } from "./shared/redis-client.js";
import { A as Algorithm, I as IssuerOptions } from "./shared/trusted-issuer.js";
export { a as Audience, F as FindKey, b as IntrospectionOptions, K as KeyMaterial } from "./shared/trusted-issuer.js";
import { S as Session } from "./shared/session.js";
export { C as Claims, a as ClientSession, R as ReadSession, U as UnauthenticatedSession, b as UserSession } from "./shared/session.js";
import { IncomingMessage } from "node:http";
export { F as FetchFunction } from "./shared/fetch-json.js";
import "node:crypto";
type TokenSource = "form" | "query" | {
    readonly header: string;
    readonly padded?: boolean | undefined;
} | {
    readonly cookie: string;
} | ((req: Request) => string | null | undefined);
interface RedisProofs {
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
declare function redisProofs(to: RedisClient | string, options?: {
    readonly prefix?: string | undefined;
}): RedisProofs;
interface DpopOptions {
    readonly required?: boolean | undefined;
    readonly maxProofAgeSec?: number | undefined;
    readonly proofs?: RedisProofs | undefined;
    readonly maxProofs?: number | undefined;
    readonly nonceSecret?: string | Uint8Array | undefined;
    readonly origin?: string | readonly string[] | undefined;
}
interface KeyControl {
    readonly ready: () => Promise<void>;
    readonly reload: (issuer?: string) => Promise<void>;
    readonly keys: () => readonly {
        readonly issuer: string;
        readonly kid: string | undefined;
        readonly algorithms: readonly Algorithm[];
    }[];
}
interface Revocation {
    readonly kind: "token" | "login" | "subject" | "client";
    readonly issuer: string;
    readonly id: string;
    readonly of?: {
        readonly sub: string;
        readonly clientId: string;
    } | undefined;
    readonly beforeSec: number;
    readonly untilSec: number;
}
interface NamingRules {
    readonly issuers?: readonly string[];
    readonly sidFrom?: readonly (string | readonly string[])[] | undefined;
}
type RevocationState = "valid" | "revoked" | {
    readonly unavailable: unknown;
};
interface RevocationSource {
    state(session: Session, rules?: NamingRules): RevocationState | Promise<RevocationState>;
}
interface BearerOptions extends IssuerOptions, DenyOptions {
    readonly issuers?: readonly IssuerOptions[] | ((iss: string) => IssuerOptions | undefined | Promise<IssuerOptions | undefined>) | undefined;
    readonly cacheBytes?: number | undefined;
    readonly scope?: string | readonly string[] | {
        readonly any: readonly string[];
    } | undefined;
    readonly acr?: string | readonly string[] | undefined;
    readonly optional?: boolean | undefined;
    readonly tokenFrom?: TokenSource | readonly TokenSource[] | undefined;
    readonly dpop?: DpopOptions | boolean | undefined;
    readonly revocation?: RevocationSource | undefined;
    readonly realm?: string | undefined;
    readonly resourceMetadata?: string | undefined;
    readonly unauthenticated?: {
        readonly claim: string;
        readonly value: string | number | boolean;
    } | undefined;
    readonly maxTokenLength?: number | undefined;
    readonly warnings?: boolean | undefined;
    readonly clock?: Clock | undefined;
}
interface CheckOptions {
    readonly resource?: string | undefined;
    readonly ip?: string | undefined;
}
interface BearerHandler extends Middleware, KeyControl {
    readonly check: (token: unknown, options?: CheckOptions) => Promise<Session>;
}
declare function requireBearer(options?: BearerOptions): BearerHandler;
declare function allowUnauthenticated(options?: {
    readonly paths?: readonly string[] | undefined;
    readonly methods?: readonly string[] | undefined;
}): Middleware;
interface ScopeOptions {
    readonly any?: readonly string[] | undefined;
    readonly dialect?: Dialect | undefined;
}
declare function requireScope(...scopes: readonly string[] | readonly [
    ...string[],
    ScopeOptions
]): Middleware;
declare function requireStepUp(options: {
    readonly acr?: string | readonly string[] | undefined;
    readonly maxAgeSec?: number | undefined;
    readonly dialect?: Dialect | undefined;
}): Middleware;
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
declare function protectedResource(options: ProtectedResourceOptions): Router & {
    readonly url: string;
};
interface RedisRevocationsOptions {
    readonly prefix?: string | undefined;
    readonly tokenLifetimeSec?: number | undefined;
    readonly maxOutageMs?: number | undefined;
    readonly onOutage?: "closed" | "open" | undefined;
    readonly clock?: Clock | undefined;
}
interface RedisRevocations extends RevocationSource {
    revokeToken(issuer: string, id: string, expSec?: number): Promise<Revocation>;
    revokeSession(issuer: string, sid: string, of?: {
        readonly sub: string;
        readonly clientId: string;
    }): Promise<Revocation>;
    revokeSubject(issuer: string, sub: string, beforeSec?: number): Promise<Revocation>;
    revokeClient(issuer: string, clientId: string, beforeSec?: number): Promise<Revocation>;
    ready(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
declare function redisRevocations(to: RedisClient | string, options?: RedisRevocationsOptions): RedisRevocations;
interface BearerMessage {
    readonly req: Request | undefined;
    readonly session: Session | undefined;
    readonly reason: Reason | undefined;
    readonly cause: unknown;
}
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
    readonly chargedMs: number;
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
    readonly refusedRequests: number;
}
declare function addressSubject(req: IncomingMessage, { ipv6Prefix }?: {
    readonly ipv6Prefix?: number | undefined;
}): string;
declare function throttleTest(options?: DenyOptions): Middleware;
interface RedisStoreOptions {
    readonly prefix?: string | undefined;
    readonly keepSubjects?: boolean | undefined;
    readonly hashKey?: string | Uint8Array | undefined;
    readonly deadlineMs?: number | undefined;
}
declare function redisStore(to: RedisClient | string, options?: RedisStoreOptions): ThrottleStore;
declare function processingTime(options?: {
    readonly clock?: Clock | undefined;
}): Middleware;
interface ServiceUnavailableOptions extends Pick<DenyOptions, "errorFormat" | "dialect"> {
    readonly retryAfterSec?: number | undefined;
    readonly log?: ((err: unknown, req: Request) => unknown) | undefined;
}
declare function serviceUnavailable(options?: ServiceUnavailableOptions): ErrorRequestHandler;
export { Algorithm, Clock, DenyOptions, Dialect, IssuerOptions, Middleware, Reason, RedisClient, RefusalFigures, Session, ThrottleStore, addressSubject, allowUnauthenticated, processingTime, protectedResource, redisProofs, redisRevocations, redisStore, requireBearer, requireScope, requireStepUp, serviceUnavailable, throttleTest };
export type { AdmittedMessage, BearerHandler, BearerMessage, BearerOptions, ChargedMessage, DpopOptions, OverloadMessage, ProtectedResourceOptions, RedisProofs, RedisRevocations, RedisRevocationsOptions, RedisStoreOptions, RefusedMessage, RevocationSource, ServiceUnavailableOptions, StoreMessage, SyncedMessage, TokenSource };

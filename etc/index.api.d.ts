// Written by npm run api-report. Do not edit.
import { RequestHandler, Router, Request, ErrorRequestHandler } from "express";
import { KeyObject } from "node:crypto";
import { C as Clock } from "./shared/clock.js";
import { D as DenyOptions, E as ErrorFormatOption } from "./shared/throttle.js";
export { a as Denial, b as DenialError, c as DenialHeaders, d as ErrorForm, e as ErrorFormat, I as InsufficientScopeError, f as InvalidRequestError, L as LimitMs, O as OnDenied, R as RouteWindow, T as Throttle, g as ThrottleHeaders, h as ThrottleOptions, i as ThrottledError, U as UnauthorizedError, j as UnavailableError, k as Usage, t as throttle } from "./shared/throttle.js";
import { J as JsonObject, A as Algorithm, a as Jwk } from "./shared/verify-key.js";
import { R as RedisClient } from "./shared/redis-client.js";
import { T as ThrottleStore } from "./shared/store.js";
export { S as StoreShard, a as StoreWatcher, b as SyncCommand, c as SyncFigures, d as SyncReply } from "./shared/store.js";
import "http-errors";
type SessionProperty = "auth" extends keyof Express.Request ? object : AuthenticatedRequest;
interface AuthenticatedRequest {
    auth?: Session;
}
declare module "express-serve-static-core" {
    interface Request extends SessionProperty {
    }
}
interface BearerHandler extends RequestHandler {
    ready(): Promise<void>;
}
declare function requireBearer(options?: BearerOptions): BearerHandler;
interface AllowUnauthenticatedOptions {
    readonly paths?: readonly string[];
    readonly methods?: readonly string[];
}
declare function allowUnauthenticated(options?: AllowUnauthenticatedOptions): RequestHandler;
declare function requireScope(...scope: readonly string[] | [
    {
        readonly any: readonly string[];
    }
]): RequestHandler;
interface AuthenticationOptions {
    readonly acrValues?: readonly string[];
    readonly maxAgeSec?: number;
}
declare function requireAuthentication(options: AuthenticationOptions): RequestHandler;
interface ProtectedResourceOptions {
    readonly resource: string;
    readonly authorizationServers?: readonly string[];
    readonly scopes?: readonly string[];
    readonly name?: string;
    readonly documentation?: string;
}
type ProtectedResourceRouter = Router & {
    readonly url: string;
};
declare function protectedResource(options: ProtectedResourceOptions): ProtectedResourceRouter;
interface RedisRevocationsOptions {
    readonly prefix?: string;
    readonly tokenLifeSec?: number;
    readonly maxBehindMs?: number;
    readonly onBehind?: "closed" | "open";
    readonly clock?: Clock;
}
interface RedisRevocations extends Revocations {
    revokeToken(issuer: string, id: string): Promise<void>;
    revokeSubject(issuer: string, sub: string, beforeSec?: number): Promise<void>;
    revokeClient(issuer: string, clientId: string, beforeSec?: number): Promise<void>;
    ready(): Promise<void>;
    close(): void;
}
declare function redisRevocations(to: RedisClient | string, options?: RedisRevocationsOptions): RedisRevocations;
interface RedisProofsOptions {
    readonly prefix?: string;
}
interface RedisProofs extends SeenProofs {
    close(): void;
}
declare function redisProofs(to: RedisClient | string, options?: RedisProofsOptions): RedisProofs;
interface BearerEvent {
    readonly request: Request;
    readonly session: Session | undefined;
    readonly reason: Reason | undefined;
    readonly cause: unknown;
}
interface RequestBudget {
    readonly subject: string;
    readonly window: string;
    readonly spentMs: number;
    readonly leftMs: number;
    readonly endsInMs: number;
    charge(ms: number): void;
    readonly signal: AbortSignal;
}
declare global {
    namespace Express {
        interface Request {
            throttle: RequestBudget;
        }
    }
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
declare function throttleTest(options?: DenyOptions): RequestHandler;
interface RedisStoreOptions {
    readonly prefix?: string;
}
declare function redisStore(to: RedisClient | string, options?: RedisStoreOptions): ThrottleStore;
interface ProcessingTimeOptions {
    readonly clock?: Clock;
}
declare function processingTime(options?: ProcessingTimeOptions): RequestHandler;
interface ServiceUnavailableOptions {
    readonly retryAfterSec?: number;
    readonly log?: (err: unknown, req: Request) => void;
    readonly errorFormat?: ErrorFormatOption;
}
declare function serviceUnavailable(options?: ServiceUnavailableOptions): ErrorRequestHandler;
export { Algorithm, Clock, DenyOptions, ErrorFormatOption, JsonObject, Jwk, RedisClient, ThrottleStore, allowUnauthenticated, processingTime, protectedResource, redisProofs, redisRevocations, redisStore, requireAuthentication, requireBearer, requireScope, serviceUnavailable, throttleTest };
export type { AdmittedMessage, AllowUnauthenticatedOptions, Auth, AuthenticationOptions, BearerEvent, BearerHandler, BearerOptions, ChargedMessage, Claims, ClientSession, DpopOptions, IntrospectionOptions, IssuerOptions, IssuersOptions, KeyMaterial, KeyOptions, OpaqueOptions, Placement, ProcessingTimeOptions, ProtectedResourceOptions, ProtectedResourceRouter, Reason, RedisProofs, RedisProofsOptions, RedisRevocations, RedisRevocationsOptions, RedisStoreOptions, RefusedMessage, RequestBudget, Revocations, ScopeNeeded, Seen, SeenProofs, ServiceUnavailableOptions, Session, SessionIdentity, StoreMessage, SyncedMessage, TokenOptions, UnauthenticatedMark, UnauthenticatedSession, UserSession, VerifyToken };

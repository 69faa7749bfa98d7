// Written by npm run api-report. Do not edit.
import { e as ThrottleStore } from "../shared/throttle.js";
export { C as Command, L as LimitMs, R as Reply, a as RouteWindow, S as StoreShard, b as StoreWatcher, T as Throttle, c as ThrottleHeaders, d as ThrottleOptions, U as Usage, W as Written, t as throttle } from "../shared/throttle.js";
import { Request, RequestHandler } from "express";
import { c as DenyOptions } from "../shared/deny.js";
export { D as Denial, a as DenialError, b as DenialHeaders, E as ErrorFormat, O as OnDenied, T as ThrottledError, e as UnavailableError } from "../shared/deny.js";
import { R as RedisClient } from "../shared/own-connection.js";
export { P as ProcessingTimeOptions, S as ServiceUnavailableOptions, p as processingTime, s as serviceUnavailable } from "../shared/service-unavailable.js";
export { C as Clock } from "../shared/clock.js";
import "http-errors";
interface RequestBudget {
    readonly subject: string;
    readonly window: string;
    readonly spentMs: number;
    readonly leftMs: number;
    readonly endsInMs: number;
    charge(ms: number): void;
    readonly signal: AbortSignal;
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
declare global {
    namespace Express {
        interface Request {
            throttle?: RequestBudget;
        }
    }
}
declare function budgetOf(req: Request): RequestBudget;
export { DenyOptions, RedisClient, ThrottleStore, budgetOf, redisStore, throttleTest };
export type { AdmittedMessage, ChargedMessage, RedisStoreOptions, RefusedMessage, RequestBudget, StoreMessage, SyncedMessage };

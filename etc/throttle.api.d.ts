// Written by npm run api-report. Do not edit.
import { e as ThrottleStore } from "../shared/throttle.js";
export { A as Advice, a as AdviseOptions, B as Bar, E as EventStreams, L as LimitAdvice, b as LimitMs, O as OverloadOptions, R as RouteWindow, T as Throttle, c as ThrottleHeaders, d as ThrottleOptions, U as Usage, W as WaitOptions, t as throttle } from "../shared/throttle.js";
import { IncomingMessage } from "node:http";
export { B as BudgetJson, R as RequestBudget, b as budgetOf } from "../shared/budget-of.js";
import { Request } from "express";
import { R as RefusalFigures, c as DenyOptions, M as Middleware } from "../shared/deny.js";
export { D as Denial, a as DenialError, b as DenialHeaders, E as ErrorForm, d as ErrorFormat, e as ErrorFormatOption, f as ErrorResponseOptions, O as OnDenied, T as ThrottledError, h as UnavailableError } from "../shared/deny.js";
import { R as RedisClient } from "../shared/redis-client.js";
export { P as ProcessingTimeOptions, S as ServiceUnavailableOptions, p as processingTime, s as serviceUnavailable } from "../shared/service-unavailable.js";
export { C as Clock } from "../shared/clock.js";
export { D as Dialect } from "../shared/dialect.js";
import "http-errors";
declare function addressSubject(req: IncomingMessage): string;
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
declare function throttleTest(options?: DenyOptions): Middleware;
interface RedisStoreOptions {
    readonly prefix?: string | undefined;
    readonly names?: boolean | undefined;
    readonly hashKey?: string | Uint8Array | undefined;
}
declare function redisStore(to: RedisClient | string, options?: RedisStoreOptions): ThrottleStore;
export { DenyOptions, Middleware, RedisClient, RefusalFigures, ThrottleStore, addressSubject, redisStore, throttleTest };
export type { AdmittedMessage, ChargedMessage, OverloadMessage, RedisStoreOptions, RefusedMessage, StoreMessage, SyncedMessage };

// Written by npm run api-report. Do not edit.
import { i as ThrottleStore } from "../shared/throttle.js";
export { A as AdmittedMessage, a as Advice, b as AdviseOptions, B as Bar, C as ChargedMessage, E as EventStreams, L as LimitAdvice, c as LimitMs, O as OverloadMessage, d as OverloadOptions, R as RefusedMessage, e as RouteWindow, S as StoreMessage, f as SyncedMessage, T as Throttle, g as ThrottleHeaders, h as ThrottleOptions, U as Usage, W as WaitOptions, t as throttle } from "../shared/throttle.js";
import { IncomingMessage } from "node:http";
export { B as BudgetJson, R as RequestBudget, b as budgetOf } from "../shared/budget-of.js";
import { c as DenyOptions, M as Middleware } from "../shared/deny.js";
export { D as Denial, a as DenialError, b as DenialHeaders, E as ErrorForm, d as ErrorFormat, e as ErrorFormatOption, f as ErrorResponseOptions, O as OnDenied, R as RefusalFigures, T as ThrottledError, h as UnavailableError } from "../shared/deny.js";
import { R as RedisClient } from "../shared/redis-client.js";
export { P as ProcessingTimeOptions, S as ServiceUnavailableOptions, p as processingTime, s as serviceUnavailable } from "../shared/service-unavailable.js";
export { C as Clock } from "../shared/clock.js";
export { D as Dialect } from "../shared/dialect.js";
import "express";
import "http-errors";
declare function addressSubject(req: IncomingMessage): string;
declare function throttleTest(options?: DenyOptions): Middleware;
interface RedisStoreOptions {
    readonly prefix?: string | undefined;
    readonly names?: boolean | undefined;
    readonly hashKey?: string | Uint8Array | undefined;
    readonly deadlineMs?: number | undefined;
}
declare function redisStore(to: RedisClient | string, options?: RedisStoreOptions): ThrottleStore;
export { DenyOptions, Middleware, RedisClient, ThrottleStore, addressSubject, redisStore, throttleTest };
export type { RedisStoreOptions };

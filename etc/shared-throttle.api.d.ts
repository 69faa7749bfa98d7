// Written by npm run api-report. Do not edit.
import { Request, Response, NextFunction, RequestHandler } from "express";
import { C as Clock } from "./clock.js";
import createError from "http-errors";
type DenialHeaders = Readonly<Record<string, string>>;
interface Denial {
    readonly status: 400 | 401 | 403 | 429 | 503;
    readonly code: string;
    readonly message: string;
    readonly headers: DenialHeaders;
    readonly reason?: string;
    readonly cause?: unknown;
}
interface DenialFields {
    readonly code: string;
    readonly reason: string | undefined;
    readonly headers: DenialHeaders;
}
declare const InvalidRequestError_base: new (denial: Denial) => createError.HttpError & DenialFields;
declare class InvalidRequestError extends InvalidRequestError_base {
}
declare const UnauthorizedError_base: new (denial: Denial) => createError.HttpError & DenialFields;
declare class UnauthorizedError extends UnauthorizedError_base {
}
declare const InsufficientScopeError_base: new (denial: Denial) => createError.HttpError & DenialFields;
declare class InsufficientScopeError extends InsufficientScopeError_base {
}
declare const ThrottledError_base: new (denial: Denial) => createError.HttpError & DenialFields;
declare class ThrottledError extends ThrottledError_base {
}
declare const UnavailableError_base: new (denial: Denial) => createError.HttpError & DenialFields;
declare class UnavailableError extends UnavailableError_base {
}
type DenialError = InvalidRequestError | UnauthorizedError | InsufficientScopeError | ThrottledError | UnavailableError;
type ErrorForm = "xml" | "json" | "problem";
interface ErrorFormat {
    readonly default?: ErrorForm;
    readonly xml?: string;
    readonly json?: string;
    readonly xmlNamespace?: string;
}
type ErrorFormatOption = ErrorFormat | "json" | "problem";
type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => void;
interface DenyOptions {
    readonly onDenied?: OnDenied;
    readonly errorFormat?: ErrorFormatOption;
}
interface ThrottleHeaders {
    readonly throttle?: boolean;
    readonly throttleOnRefusal?: boolean;
    readonly rateLimit?: boolean;
}
interface SyncCommand {
    readonly id: string;
    readonly number: number;
    readonly start: number;
    readonly end: number;
    readonly seq: number;
    readonly spent: number;
    readonly hold: number;
    readonly running: number;
    readonly want: number;
    readonly unit: number;
    readonly slice: number;
    readonly keep: number;
    readonly limit: number;
    readonly tolerance: number;
    readonly leaseMs: number;
}
interface SyncReply {
    readonly time: number;
    readonly written?: SyncFigures;
}
interface SyncFigures {
    readonly othersSpent: number;
    readonly othersRunning: number;
    readonly granted: number;
    readonly more: number;
    readonly lone: boolean;
    readonly found: number;
}
interface ThrottleStore {
    shardOf(id: string): StoreShard;
    watch(watcher: StoreWatcher): void;
    close(): Promise<void>;
}
interface StoreShard {
    readonly name: string | undefined;
    sync(window: string, command: SyncCommand): Promise<SyncReply>;
    beat(): Promise<{
        readonly time: number;
        readonly whole: boolean;
    }>;
}
interface StoreWatcher {
    ready(shard: StoreShard): void;
    gone(shard: StoreShard): void;
}
type LimitMs = number | ((req: Request) => number);
interface RouteWindow {
    readonly limitMs: LimitMs;
    readonly windowMs?: number;
    readonly name?: string;
}
interface ThrottleOptions extends DenyOptions {
    readonly limitMs?: LimitMs;
    readonly windowMs?: number;
    readonly name?: string;
    readonly routes?: Readonly<Record<string, RouteWindow | false>>;
    readonly store?: ThrottleStore;
    readonly subject?: (req: Request) => string | null;
    readonly hold?: boolean;
    readonly maxStaleMs?: number;
    readonly maxSubjects?: number;
    readonly onOutage?: "local" | "closed";
    readonly dryRun?: boolean;
    readonly headers?: ThrottleHeaders;
    readonly clock?: Clock;
}
interface Usage {
    readonly window: string;
    readonly limitMs: number | null;
    readonly spentMs: number;
    readonly leftMs: number | null;
    readonly endsInMs: number;
    readonly degraded: boolean;
}
interface Throttle extends RequestHandler {
    usage(subject: string): Promise<Usage[]>;
    reset(subject: string): Promise<void>;
    close(): Promise<void>;
}
declare function throttle(options?: ThrottleOptions): Throttle;
export { InsufficientScopeError as I, UnauthorizedError as U, InvalidRequestError as g, ThrottledError as n, UnavailableError as o, throttle as t };
export type { DenyOptions as D, ErrorFormatOption as E, LimitMs as L, OnDenied as O, RouteWindow as R, StoreShard as S, Throttle as T, ThrottleStore as a, Denial as b, DenialError as c, DenialHeaders as d, ErrorForm as e, ErrorFormat as f, StoreWatcher as h, SyncCommand as i, SyncFigures as j, SyncReply as k, ThrottleHeaders as l, ThrottleOptions as m, Usage as p };

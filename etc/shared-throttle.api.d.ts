// Written by npm run api-report. Do not edit.
import { Request, RequestHandler } from "express";
import { C as Clock } from "./clock.js";
import createError from "http-errors";
import { T as ThrottleStore } from "./store.js";
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
    ready(): Promise<void>;
    close(): Promise<void>;
}
declare function throttle(options?: ThrottleOptions): Throttle;
export { InsufficientScopeError as I, UnauthorizedError as U, InvalidRequestError as f, ThrottledError as i, UnavailableError as j, throttle as t };
export type { DenyOptions as D, ErrorFormatOption as E, LimitMs as L, OnDenied as O, RouteWindow as R, Throttle as T, Denial as a, DenialError as b, DenialHeaders as c, ErrorForm as d, ErrorFormat as e, ThrottleHeaders as g, ThrottleOptions as h, Usage as k };

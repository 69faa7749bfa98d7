// Written by npm run api-report. Do not edit.
import { IncomingMessage, ServerResponse } from "node:http";
import { Request, Response, NextFunction } from "express";
import { C as Clock } from "./clock.js";
import createError from "http-errors";
import { D as Dialect } from "./budget-of.js";
interface Bar {
    readonly fromMs: number;
    readonly toMs: number;
    readonly subjectWindows: number;
}
interface LimitAdvice {
    readonly limitMs: number;
    readonly subjectWindows: number;
    readonly share: number;
    readonly timeShare: number;
}
interface Advice {
    readonly window: string;
    readonly windowMs: number;
    readonly limitMs: number | null;
    readonly hours: number;
    readonly subjectWindows: number;
    readonly processingMs: number;
    readonly refusedRequests: number;
    readonly warning: string | undefined;
    readonly quantilesMs: {
        readonly p50: number;
        readonly p90: number;
        readonly p99: number;
        readonly p999: number;
        readonly max: number;
    };
    readonly limits: readonly LimitAdvice[];
    readonly distribution: readonly Bar[];
}
type Middleware = (req: IncomingMessage, res: ServerResponse, next: (err?: any) => void) => void;
type DenialHeaders = Readonly<Record<string, string>>;
interface Denial {
    readonly status: 400 | 401 | 403 | 429 | 503;
    readonly code: string;
    readonly message: string;
    readonly headers: DenialHeaders;
    readonly reason?: string;
    readonly figures?: RefusalFigures;
    readonly cause?: unknown;
}
interface RefusalFigures {
    readonly window: string;
    readonly limitMs: number;
    readonly spentMs: number;
    readonly heldMs: number;
    readonly othersAgeMs: number | null;
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
    readonly figures: RefusalFigures | undefined;
    constructor(denial: Denial);
}
declare const UnavailableError_base: new (denial: Denial) => createError.HttpError & DenialFields;
declare class UnavailableError extends UnavailableError_base {
}
type DenialError = InvalidRequestError | UnauthorizedError | InsufficientScopeError | ThrottledError | UnavailableError;
type ErrorForm = "xml" | "json" | "problem";
interface ErrorFormat {
    readonly default?: ErrorForm | undefined;
    readonly xml?: string | undefined;
    readonly json?: string | undefined;
    readonly xmlNamespace?: string | undefined;
}
type ErrorFormatOption = ErrorFormat | "json" | "problem";
type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => unknown;
interface ErrorResponseOptions {
    readonly errorFormat?: ErrorFormatOption | undefined;
    readonly dialect?: Dialect | undefined;
}
interface DenyOptions extends ErrorResponseOptions {
    readonly onDenied?: OnDenied | undefined;
}
interface AddressOptions {
    readonly ipv6Prefix?: number | undefined;
}
declare function addressSubject(req: IncomingMessage, { ipv6Prefix }?: AddressOptions): string;
type SubjectFunction = (req: Request) => string | null | undefined;
interface UsageStore {
    addUsage?(policy: string, hour: number, counts: ReadonlyMap<string, number>): Promise<void>;
    readUsage?(policy: string, hours: readonly number[]): Promise<readonly Readonly<Record<string, string>>[]>;
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
type SubjectDigest = (subject: string) => string;
interface Report {
    readonly policy: string;
    readonly subject?: string;
    readonly id: string;
    readonly number: number;
    readonly starts: number;
    readonly ends: number;
    readonly seq: number;
    readonly stored: number;
    readonly used: number;
    readonly held: number;
    readonly running: number;
    readonly excused: number;
    readonly unseen: number;
    readonly strain: number;
    readonly carried: number;
    readonly hasNews: boolean;
    readonly clears: boolean;
    readonly carries: boolean;
    readonly lasts: number;
    readonly want: number;
    readonly count: number;
    readonly unit: number;
    readonly wish: number;
    readonly wishPlaces: number;
    readonly limit: number;
    readonly concurrency: number;
}
interface Answer {
    readonly time: number;
    readonly status: "written" | "closed" | "late" | "unreadable";
    readonly found: number;
    readonly cause?: string;
    readonly figures?: AnswerFigures;
}
interface AnswerFigures {
    readonly used: number;
    readonly held: number;
    readonly aheadOfOthers: number;
    readonly running: number;
    readonly excused: number;
    readonly unseen: number;
    readonly strain: number;
    readonly granted: number;
    readonly count: number;
    readonly ahead: number;
    readonly places: number;
    readonly carried: number;
    readonly before?: number;
}
interface ThrottleStore extends UsageStore {
    serverOf(id: string): StoreServer;
    watch(watcher: StoreWatcher): void;
    readonly keeps?: string;
    readonly digest?: SubjectDigest | undefined;
    readonly deadlineMs?: number;
    close(): Promise<void>;
}
interface StoreServer {
    readonly name: string | undefined;
    readonly place?: string;
    readonly reportsPerCommand?: number;
    report(process: string, reports: readonly Report[]): Promise<readonly Answer[]>;
    beat(load?: OverloadMessage, terms?: readonly string[]): Promise<Beat>;
}
interface Beat {
    readonly time: number;
    readonly living?: number;
    readonly token?: string;
    readonly terms?: readonly string[];
}
interface StoreWatcher {
    ready(server: StoreServer): void;
    gone(server: StoreServer): void;
}
interface ThrottleHeaders {
    readonly throttle?: boolean | "always" | undefined;
    readonly rateLimit?: boolean | undefined;
    readonly processingTime?: boolean | undefined;
}
type EventStreams = "whole" | "header";
interface Usage {
    readonly window: string;
    readonly limitMs: number | null;
    readonly spentMs: number;
    readonly leftMs: number | null;
    readonly endsInMs: number;
    readonly degraded: boolean;
}
type LimitMs = number | ((req: Request) => number);
type Concurrency = number | ((req: Request) => number);
interface MeterOptions {
    readonly clientWaitMs?: number | undefined;
    readonly carryOvershoot?: boolean | undefined;
    readonly eventStreams?: EventStreams | undefined;
}
interface RouteWindow extends MeterOptions {
    readonly limitMs: LimitMs;
    readonly windowMs?: number | undefined;
    readonly concurrency?: Concurrency | undefined;
    readonly name?: string | undefined;
}
interface WaitOptions {
    readonly maxMs?: number | undefined;
    readonly perSubject?: number | undefined;
}
interface OverloadOptions {
    readonly loopDelayMs?: number | undefined;
    readonly isOverloaded?: (() => boolean) | undefined;
}
interface ThrottleOptions extends DenyOptions, MeterOptions {
    readonly limitMs?: LimitMs | undefined;
    readonly windowMs?: number | undefined;
    readonly concurrency?: Concurrency | undefined;
    readonly name?: string | undefined;
    readonly routes?: Readonly<Record<string, RouteWindow | false>> | undefined;
    readonly store?: ThrottleStore | undefined;
    readonly subject?: SubjectFunction | undefined;
    readonly ipv6Prefix?: number | undefined;
    readonly wait?: WaitOptions | false | undefined;
    readonly grantAhead?: boolean | undefined;
    readonly maxSubjects?: number | undefined;
    readonly onOutage?: "local" | "closed" | undefined;
    readonly dryRun?: boolean | undefined;
    readonly overload?: boolean | OverloadOptions | undefined;
    readonly headers?: ThrottleHeaders | false | undefined;
    readonly clock?: Clock | undefined;
}
interface Throttle extends Middleware {
    usage(subject: string): Promise<Usage[]>;
    reset(subject: string): Promise<void>;
    advise(options?: AdviseOptions): Promise<Advice[]>;
    ready(options?: {
        readonly withinMs?: number | undefined;
    }): Promise<void>;
    flush(): Promise<void>;
    close(): Promise<void>;
}
interface AdviseOptions {
    readonly hours?: number | undefined;
    readonly limitsMs?: readonly number[] | undefined;
}
declare function throttle(options?: ThrottleOptions): Throttle;
export { InsufficientScopeError as I, UnauthorizedError as U, InvalidRequestError as l, ThrottledError as u, UnavailableError as v, addressSubject as x, throttle as y };
export type { AddressOptions as A, Bar as B, ChargedMessage as C, DenyOptions as D, ErrorResponseOptions as E, LimitAdvice as L, Middleware as M, OnDenied as O, RefusalFigures as R, StoreMessage as S, Throttle as T, WaitOptions as W, ThrottleStore as a, AdmittedMessage as b, Advice as c, AdviseOptions as d, Denial as e, DenialError as f, DenialHeaders as g, ErrorForm as h, ErrorFormat as i, ErrorFormatOption as j, EventStreams as k, LimitMs as m, OverloadMessage as n, OverloadOptions as o, RefusedMessage as p, RouteWindow as q, SyncedMessage as r, ThrottleHeaders as s, ThrottleOptions as t, Usage as w };

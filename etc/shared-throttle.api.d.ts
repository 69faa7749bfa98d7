// Written by npm run api-report. Do not edit.
import { IncomingMessage, ServerResponse } from "node:http";
import { Request, Response, NextFunction } from "express";
import { C as Clock } from "./clock.js";
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
type RequestReason = "malformed_credentials" | "several_tokens";
type TokenReason = "no_token" | "malformed_token" | "critical_header" | "token_type" | "id_token" | "algorithm" | "unknown_key" | "signature" | "issuer" | "audience" | "expired" | "expiry" | "not_yet_valid" | "issued_at" | "too_old" | "subject" | "client" | "token_id" | "sender_constrained" | "required_claim" | "claim_check" | "session_kind" | "authentication" | "inactive" | "revoked" | "dpop_required" | "dpop_proof" | "dpop_nonce" | "dpop_binding" | "dpop_replay";
type ScopeReason = "scope" | "unauthenticated_session";
type ThrottleReason = "spent" | "reserved" | "concurrency" | "queue" | "outage";
type DependencyReason = "keys_unavailable" | "introspection_unavailable" | "verify_unavailable" | "tenants_unavailable" | "revocation_unavailable" | "dpop_unavailable";
type Reason = RequestReason | TokenReason | ScopeReason | DependencyReason;
type TokenCode = "unauthorized" | "invalid_token" | "insufficient_user_authentication" | "invalid_dpop_proof" | "use_dpop_nonce";
interface DenialOf<Status extends number, Code extends string, Reason extends string> {
    readonly status: Status;
    readonly code: Code;
    readonly message: string;
    readonly headers: DenialHeaders;
    readonly reason?: Reason | undefined;
    readonly figures?: RefusalFigures | undefined;
    readonly cause?: unknown;
}
type Denial = DenialOf<400, "invalid_request", RequestReason> | DenialOf<401, TokenCode, TokenReason> | DenialOf<403, "insufficient_scope", ScopeReason> | DenialOf<429, "throttled", ThrottleReason> | DenialOf<503, "unavailable", DependencyReason | "outage" | "overload">;
interface RefusalFigures {
    readonly window: string;
    readonly limitMs: number;
    readonly spentMs: number;
    readonly heldMs: number;
    readonly othersAgeMs: number | null;
}
interface DenialFields<Status, Code, Reason> extends Error {
    readonly status: Status;
    readonly statusCode: Status;
    readonly expose: boolean;
    readonly code: Code;
    readonly reason: Reason;
    readonly headers: DenialHeaders;
}
declare const InvalidRequestError_base: new (denial: DenialOf<400, "invalid_request", RequestReason>) => DenialFields<400, "invalid_request", RequestReason | undefined>;
declare class InvalidRequestError extends InvalidRequestError_base {
}
declare const UnauthorizedError_base: new (denial: DenialOf<401, TokenCode, TokenReason>) => DenialFields<401, TokenCode, TokenReason>;
declare class UnauthorizedError extends UnauthorizedError_base {
}
declare const InsufficientScopeError_base: new (denial: DenialOf<403, "insufficient_scope", ScopeReason>) => DenialFields<403, "insufficient_scope", ScopeReason>;
declare class InsufficientScopeError extends InsufficientScopeError_base {
}
declare const ThrottledError_base: new (denial: DenialOf<429, "throttled", ThrottleReason>) => DenialFields<429, "throttled", ThrottleReason>;
declare class ThrottledError extends ThrottledError_base {
    readonly figures: RefusalFigures;
    constructor(denial: Extract<Denial, {
        status: 429;
    }>);
}
declare const UnavailableError_base: new (denial: DenialOf<503, "unavailable", "outage" | DependencyReason | "overload">) => DenialFields<503, "unavailable", "outage" | DependencyReason | "overload">;
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
declare const opaque: unique symbol;
interface ThrottleStore {
    readonly [opaque]: true;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
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
    [Symbol.asyncDispose](): Promise<void>;
}
interface AdviseOptions {
    readonly hours?: number | undefined;
    readonly limitsMs?: readonly number[] | undefined;
}
declare function throttle(options?: ThrottleOptions): Throttle;
export { InsufficientScopeError as I, UnauthorizedError as U, InvalidRequestError as l, ThrottledError as r, UnavailableError as s, addressSubject as u, throttle as v };
export type { AddressOptions as A, Bar as B, DenyOptions as D, ErrorResponseOptions as E, LimitAdvice as L, Middleware as M, OnDenied as O, Reason as R, Throttle as T, WaitOptions as W, RefusalFigures as a, ThrottleStore as b, Advice as c, AdviseOptions as d, Denial as e, DenialError as f, DenialHeaders as g, ErrorForm as h, ErrorFormat as i, ErrorFormatOption as j, EventStreams as k, LimitMs as m, OverloadOptions as n, RouteWindow as o, ThrottleHeaders as p, ThrottleOptions as q, Usage as t };

// Written by npm run api-report. Do not edit.
import { IncomingMessage, ServerResponse } from "node:http";
import { Request, Response, NextFunction } from "express";
import { D as Dialect } from "./shown-budget.js";
import { C as Clock } from "./clock.js";
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
    readonly limits: readonly {
        readonly limitMs: number;
        readonly subjectWindows: number;
        readonly share: number;
        readonly timeShare: number;
    }[];
    readonly distribution: readonly {
        readonly fromMs: number;
        readonly toMs: number;
        readonly subjectWindows: number;
    }[];
}
type Middleware = (req: IncomingMessage, res: ServerResponse, next: (err?: any) => void) => void;
type RequestReason = "malformed_credentials" | "several_tokens";
type TokenReason = "no_token" | "malformed_token" | "critical_header" | "token_type" | "id_token" | "algorithm" | "unknown_key" | "signature" | "issuer" | "audience" | "expired" | "expiry" | "not_yet_valid" | "issued_at" | "too_old" | "subject" | "client" | "token_id" | "sender_constrained" | "required_claim" | "claim_check" | "session_kind" | "authentication" | "inactive" | "revoked" | "dpop_required" | "dpop_proof" | "dpop_nonce" | "dpop_binding" | "dpop_replay";
type ScopeReason = "scope" | "unauthenticated_session";
type ThrottleReason = "spent" | "reserved" | "concurrency" | "queue" | "outage";
type DependencyReason = "keys_unavailable" | "introspection_unavailable" | "verify_unavailable" | "tenants_unavailable" | "revocation_unavailable" | "dpop_unavailable";
type Reason = RequestReason | TokenReason | ScopeReason | DependencyReason;
type TokenCode = "unauthorized" | "invalid_token" | "insufficient_user_authentication" | "invalid_dpop_proof" | "use_dpop_nonce";
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
    readonly headers: Readonly<Record<string, string>>;
}
declare const InvalidRequestError_base: abstract new () => DenialFields<400, "invalid_request", RequestReason | undefined>;
declare abstract class InvalidRequestError extends InvalidRequestError_base {
}
declare const UnauthorizedError_base: abstract new () => DenialFields<401, TokenCode, TokenReason>;
declare abstract class UnauthorizedError extends UnauthorizedError_base {
}
declare const InsufficientScopeError_base: abstract new () => DenialFields<403, "insufficient_scope", ScopeReason>;
declare abstract class InsufficientScopeError extends InsufficientScopeError_base {
}
declare const ThrottledError_base: abstract new () => DenialFields<429, "throttled", ThrottleReason>;
declare abstract class ThrottledError extends ThrottledError_base {
    readonly figures: RefusalFigures;
}
declare const UnavailableError_base: abstract new () => DenialFields<503, "unavailable", "outage" | DependencyReason | "overload">;
declare abstract class UnavailableError extends UnavailableError_base {
}
type DenialError = InvalidRequestError | UnauthorizedError | InsufficientScopeError | ThrottledError | UnavailableError;
interface ErrorFormat {
    readonly default?: "xml" | "json" | "problem" | undefined;
    readonly xml?: string | undefined;
    readonly json?: string | undefined;
    readonly xmlNamespace?: string | undefined;
}
type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => unknown;
interface DenyOptions {
    readonly onDenied?: OnDenied | undefined;
    readonly errorFormat?: ErrorFormat | "json" | "problem" | undefined;
    readonly dialect?: Dialect | undefined;
}
declare const opaque: unique symbol;
interface ThrottleStore {
    readonly [opaque]: true;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
interface Usage {
    readonly window: string;
    readonly limitMs: number | null;
    readonly spentMs: number;
    readonly leftMs: number | null;
    readonly endsInMs: number;
    readonly degraded: boolean;
}
interface MeterOptions {
    readonly clientWaitMs?: number | undefined;
    readonly carryOvershoot?: boolean | undefined;
    readonly endsWithClient?: boolean | undefined;
    readonly eventStreams?: "header" | "whole" | undefined;
}
interface RouteWindow extends MeterOptions {
    readonly limitMs: number | ((req: Request) => number);
    readonly windowMs?: number | undefined;
    readonly concurrency?: number | ((req: Request) => number) | undefined;
    readonly name?: string | undefined;
}
interface OverloadOptions {
    readonly loopDelayMs?: number | undefined;
    readonly isOverloaded?: (() => boolean) | undefined;
}
interface ThrottleHeaders {
    readonly throttle?: boolean | "always" | undefined;
    readonly rateLimit?: boolean | undefined;
    readonly processingTime?: boolean | undefined;
}
interface ThrottleOptions extends DenyOptions, MeterOptions {
    readonly limitMs?: number | ((req: Request) => number) | undefined;
    readonly windowMs?: number | undefined;
    readonly concurrency?: number | ((req: Request) => number) | undefined;
    readonly name?: string | undefined;
    readonly routes?: Readonly<Record<string, RouteWindow | false>> | undefined;
    readonly store?: ThrottleStore | undefined;
    readonly subject?: ((req: Request) => string | null | undefined) | undefined;
    readonly ipv6Prefix?: number | undefined;
    readonly wait?: {
        readonly maxMs?: number | undefined;
        readonly perSubject?: number | undefined;
    } | false | undefined;
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
    advise(options?: {
        readonly hours?: number | undefined;
        readonly limitsMs?: readonly number[] | undefined;
    }): Promise<Advice[]>;
    ready(options?: {
        readonly withinMs?: number | undefined;
    }): Promise<void>;
    flush(): Promise<void>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
declare function throttle(options?: ThrottleOptions): Throttle;
export { InsufficientScopeError as I, UnauthorizedError as U, InvalidRequestError as d, ThrottledError as i, UnavailableError as j, throttle as t };
export type { Advice as A, DenyOptions as D, ErrorFormat as E, Middleware as M, OnDenied as O, Reason as R, Throttle as T, RefusalFigures as a, ThrottleStore as b, DenialError as c, OverloadOptions as e, RouteWindow as f, ThrottleHeaders as g, ThrottleOptions as h, Usage as k };

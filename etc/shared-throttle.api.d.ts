// Written by npm run api-report. Do not edit.
import { c as DenyOptions, M as Middleware } from "./deny.js";
import { Request } from "express";
import { C as Clock } from "./clock.js";
import { T as ThrottleStore } from "./store.js";
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
type EventStreams = "whole" | "header";
interface ThrottleHeaders {
    readonly throttle?: boolean | undefined;
    readonly throttleOnRefusal?: boolean | undefined;
    readonly rateLimit?: boolean | undefined;
}
type LimitMs = number | ((req: Request) => number);
interface MeterOptions {
    readonly clientWaitMs?: number | undefined;
    readonly carryOver?: boolean | undefined;
    readonly eventStreams?: EventStreams | undefined;
}
interface RouteWindow extends MeterOptions {
    readonly limitMs: LimitMs;
    readonly windowMs?: number | undefined;
    readonly name?: string | undefined;
}
interface WaitOptions {
    readonly maxMs?: number | undefined;
    readonly perSubject?: number | undefined;
}
interface ThrottleOptions extends DenyOptions, MeterOptions {
    readonly limitMs?: LimitMs | undefined;
    readonly windowMs?: number | undefined;
    readonly name?: string | undefined;
    readonly routes?: Readonly<Record<string, RouteWindow | false>> | undefined;
    readonly store?: ThrottleStore | undefined;
    readonly subject?: ((req: Request) => string | null) | undefined;
    readonly wait?: WaitOptions | false | undefined;
    readonly grantAhead?: boolean | undefined;
    readonly maxSubjects?: number | undefined;
    readonly onOutage?: "local" | "closed" | undefined;
    readonly dryRun?: boolean | undefined;
    readonly stalls?: "full" | "shared" | undefined;
    readonly headers?: ThrottleHeaders | undefined;
    readonly clock?: Clock | undefined;
}
interface Usage {
    readonly window: string;
    readonly limitMs: number | null;
    readonly spentMs: number;
    readonly leftMs: number | null;
    readonly endsInMs: number;
    readonly degraded: boolean;
}
interface Throttle extends Middleware {
    usage(subject: string): Promise<Usage[]>;
    reset(subject: string): Promise<void>;
    advise(options?: AdviseOptions): Promise<Advice[]>;
    ready(): Promise<void>;
    flush(): Promise<void>;
    close(): Promise<void>;
}
interface AdviseOptions {
    readonly hours?: number | undefined;
    readonly limitsMs?: readonly number[] | undefined;
}
declare function throttle(options?: ThrottleOptions): Throttle;
export { throttle as t };
export type { Advice as A, Bar as B, EventStreams as E, LimitAdvice as L, RouteWindow as R, Throttle as T, Usage as U, WaitOptions as W, AdviseOptions as a, LimitMs as b, ThrottleHeaders as c, ThrottleOptions as d };

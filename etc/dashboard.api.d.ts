// Written by npm run api-report. Do not edit.
import { RequestHandler, Router } from "express";
import { RedisClient } from "../index.js";
import { Throttle } from "../index.js";
import "node:http";
import "../shared/shown-budget.js";
import "../shared/session.js";
import "../shared/clock.js";
interface DashboardOptions {
    readonly guard: RequestHandler | readonly RequestHandler[];
    readonly redis?: RedisClient | string | undefined;
    readonly prefix?: string | undefined;
    readonly label?: ((subject: string) => string | undefined) | undefined;
    readonly title?: string | undefined;
}
interface ThrottleDashboard extends Router {
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
declare function throttleDashboard(throttle: Throttle, options: DashboardOptions): ThrottleDashboard;
export { throttleDashboard };
export type { DashboardOptions, ThrottleDashboard };

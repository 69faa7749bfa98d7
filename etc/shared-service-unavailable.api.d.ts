// Written by npm run api-report. Do not edit.
import { C as Clock } from "./clock.js";
import { M as Middleware, f as ErrorResponseOptions } from "./deny.js";
import { Request, ErrorRequestHandler } from "express";
interface ProcessingTimeOptions {
    readonly clock?: Clock | undefined;
}
declare function processingTime(options?: ProcessingTimeOptions): Middleware;
interface ServiceUnavailableOptions extends ErrorResponseOptions {
    readonly retryAfterSec?: number | undefined;
    readonly log?: ((err: unknown, req: Request) => unknown) | undefined;
}
declare function serviceUnavailable(options?: ServiceUnavailableOptions): ErrorRequestHandler;
export { processingTime as p, serviceUnavailable as s };
export type { ProcessingTimeOptions as P, ServiceUnavailableOptions as S };

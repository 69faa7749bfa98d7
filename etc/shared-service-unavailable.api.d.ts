// Written by npm run api-report. Do not edit.
import { RequestHandler, Request, ErrorRequestHandler } from "express";
import { C as Clock } from "./clock.js";
import { f as ErrorResponseOptions } from "./deny.js";
interface ProcessingTimeOptions {
    readonly clock?: Clock;
}
declare function processingTime(options?: ProcessingTimeOptions): RequestHandler;
interface ServiceUnavailableOptions extends ErrorResponseOptions {
    readonly retryAfterSec?: number;
    readonly log?: (err: unknown, req: Request) => unknown;
}
declare function serviceUnavailable(options?: ServiceUnavailableOptions): ErrorRequestHandler;
export { processingTime as p, serviceUnavailable as s };
export type { ProcessingTimeOptions as P, ServiceUnavailableOptions as S };

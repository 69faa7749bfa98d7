// Written by npm run api-report. Do not edit.
import { IncomingMessage, ServerResponse } from "node:http";
import { Request, Response, NextFunction } from "express";
import createError from "http-errors";
import { D as Dialect } from "./dialect.js";
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
export { InsufficientScopeError as I, ThrottledError as T, UnauthorizedError as U, InvalidRequestError as g, UnavailableError as h };
export type { Denial as D, ErrorForm as E, Middleware as M, OnDenied as O, RefusalFigures as R, DenialError as a, DenialHeaders as b, DenyOptions as c, ErrorFormat as d, ErrorFormatOption as e, ErrorResponseOptions as f };

// Written by npm run api-report. Do not edit.
import { Request, Response, NextFunction } from "express";
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
interface ErrorFormat {
    readonly xml?: string;
    readonly json?: string;
    readonly xmlNamespace?: string;
}
type OnDenied = (err: DenialError, req: Request, res: Response, next: NextFunction) => void;
interface DenyOptions {
    readonly onDenied?: OnDenied;
    readonly errorFormat?: ErrorFormat;
}
export { InsufficientScopeError as I, ThrottledError as T, UnauthorizedError as U, InvalidRequestError as d, UnavailableError as e };
export type { Denial as D, ErrorFormat as E, OnDenied as O, DenialError as a, DenialHeaders as b, DenyOptions as c };

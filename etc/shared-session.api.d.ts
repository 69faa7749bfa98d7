// Written by npm run api-report. Do not edit.
import { J as JsonObject } from "./json.js";
type Claims = JsonObject;
type AnySession = {
    readonly issuer: string;
    readonly sub: string | undefined;
    readonly scope: readonly string[];
    readonly scopes: string[];
    readonly acr?: readonly string[];
    readonly expiresAt?: number;
    readonly claims: Claims;
    readonly token: string;
};
type UserSession = AnySession & {
    readonly kind: "user";
    readonly sub: string;
    readonly userId: string;
    readonly clientId: string;
};
type ClientSession = AnySession & {
    readonly kind: "client";
    readonly clientId: string;
    readonly userId?: undefined;
};
type UnauthenticatedSession = AnySession & {
    readonly kind: "unauthenticated";
    readonly clientId: string;
    readonly userId?: undefined;
};
type Session = UserSession | ClientSession | UnauthenticatedSession;
type Auth = Session;
type SessionIdentity = ({
    readonly kind: "user";
    readonly userId: string;
    readonly clientId?: string | undefined;
} | {
    readonly kind: "client" | "unauthenticated";
    readonly clientId: string;
}) & {
    readonly scope?: readonly string[] | undefined;
};
interface TokenFacts {
    readonly header: JsonObject;
}
type ReadSession = (claims: Claims, token: TokenFacts) => SessionIdentity | undefined;
type CheckClaims = (claims: Claims, token: TokenFacts) => boolean;
interface UnauthenticatedMark {
    readonly claim: string;
    readonly value: string | number | boolean;
}
export type { Auth as A, CheckClaims as C, ReadSession as R, Session as S, TokenFacts as T, UnauthenticatedMark as U, Claims as a, ClientSession as b, SessionIdentity as c, UnauthenticatedSession as d, UserSession as e };

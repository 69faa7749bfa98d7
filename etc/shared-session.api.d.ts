// Written by npm run api-report. Do not edit.
type Claims = Readonly<Record<string, unknown>>;
type AnySession = {
    readonly issuer: string;
    readonly sub: string | undefined;
    readonly scope: readonly string[];
    readonly scopes: string[];
    readonly signal: AbortSignal;
    readonly acr?: readonly string[];
    readonly authTime?: number | undefined;
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
type ReadSession = (claims: Claims, token: {
    readonly header: Claims;
}) => {
    readonly kind: "user";
    readonly userId: string;
    readonly clientId?: string | undefined;
    readonly scope?: readonly string[] | undefined;
} | {
    readonly kind: "client" | "unauthenticated";
    readonly clientId: string;
    readonly scope?: readonly string[] | undefined;
} | undefined;
export type { Claims as C, ReadSession as R, Session as S, UnauthenticatedSession as U, ClientSession as a, UserSession as b };

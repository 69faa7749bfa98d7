// Written by npm run api-report. Do not edit.
import { KeyObject } from "node:crypto";
import { J as JsonObject, A as Algorithm, a as Jwk } from "./verify-key.js";
type ClaimPath = string | readonly string[];
type Claims = JsonObject;
type AnySession = {
    readonly issuer: string;
    readonly sub: string | undefined;
    readonly scope: readonly string[];
    readonly scopes: string[];
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
};
type UnauthenticatedSession = AnySession & {
    readonly kind: "unauthenticated";
    readonly clientId: string;
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
type FetchFunction = (url: string, init: FetchInit) => Promise<FetchedResponse>;
interface FetchInit {
    readonly method?: "POST";
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly redirect: "manual";
    readonly signal: AbortSignal;
}
interface FetchedResponse {
    readonly status: number;
    readonly headers: {
        get(name: string): string | null;
    };
    readonly body: object | null;
}
type Tenants = readonly string[] | ((tenant: string) => boolean);
interface AudienceInstead {
    readonly instead: "clients" | "issuer" | "introspection" | "verify";
}
type Audience = string | readonly string[] | AudienceInstead | {
    readonly all: readonly Audience[];
};
interface TokenOptions {
    readonly issuer?: string | readonly string[] | undefined;
    readonly tenants?: Tenants | undefined;
    readonly audience?: Audience | undefined;
    readonly clients?: readonly string[] | undefined;
    readonly algorithms?: readonly Algorithm[] | undefined;
    readonly clockToleranceSec?: number | undefined;
    readonly maxAgeSec?: number | undefined;
    readonly lastGoodSec?: number | undefined;
    readonly typ?: "at+jwt" | undefined;
    readonly idTokens?: boolean | undefined;
    readonly requiredClaims?: readonly (string | RequiredValues)[] | RequiredValues | undefined;
    readonly timesAsText?: boolean | undefined;
    readonly scopeFrom?: readonly ClaimPath[] | undefined;
    readonly scopeRequired?: boolean | undefined;
    readonly checkClaims?: CheckClaims | undefined;
    readonly session?: ReadSession | undefined;
    readonly fetch?: FetchFunction | undefined;
    readonly allowHttp?: boolean | undefined;
}
type RequiredValues = Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
type KeyMaterial = KeyObject | string | Jwk;
interface KeyOptions {
    readonly key?: KeyMaterial | undefined;
    readonly keys?: readonly KeyMaterial[] | undefined;
    readonly secret?: KeyObject | Uint8Array | string | undefined;
    readonly jwksUri?: string | undefined;
}
type IssuerOptions = TokenOptions & KeyOptions;
export type { Audience as A, CheckClaims as C, FetchFunction as F, IssuerOptions as I, KeyMaterial as K, ReadSession as R, Session as S, Tenants as T, UnauthenticatedMark as U, AudienceInstead as a, Auth as b, ClaimPath as c, Claims as d, ClientSession as e, FetchInit as f, FetchedResponse as g, KeyOptions as h, RequiredValues as i, SessionIdentity as j, TokenFacts as k, TokenOptions as l, UnauthenticatedSession as m, UserSession as n };

// Written by npm run api-report. Do not edit.
import { F as FetchFunction } from "./fetch-json.js";
import { A as Algorithm, a as KeyMaterial, b as KeyOptions } from "./key-options.js";
import { C as CheckClaims, R as ReadSession } from "./session.js";
type ClaimPath = string | readonly string[];
type Tenants = readonly string[] | ((tenant: string) => boolean | Promise<boolean>);
interface AudienceCheck {
    readonly checkedBy: "clients" | "issuer" | "introspection" | "verify";
}
type Audience = string | readonly string[] | AudienceCheck | {
    readonly all: readonly Audience[];
};
interface TokenOptions {
    readonly issuer?: string | readonly string[] | undefined;
    readonly tenants?: Tenants | undefined;
    readonly audience?: Audience | undefined;
    readonly clients?: readonly string[] | undefined;
    readonly algorithms?: readonly Algorithm[] | undefined;
    readonly clockToleranceSec?: number | undefined;
    readonly maxTokenAgeSec?: number | undefined;
    readonly lastGoodSec?: number | undefined;
    readonly typ?: "at+jwt" | undefined;
    readonly idTokens?: boolean | undefined;
    readonly requiredClaims?: readonly (string | RequiredValues)[] | RequiredValues | undefined;
    readonly timesAsText?: boolean | undefined;
    readonly scopeFrom?: readonly ClaimPath[] | undefined;
    readonly acrFrom?: readonly ClaimPath[] | undefined;
    readonly scopeRequired?: boolean | undefined;
    readonly checkClaims?: CheckClaims | undefined;
    readonly session?: ReadSession | undefined;
    readonly fetch?: FetchFunction | undefined;
    readonly allowHttp?: boolean | undefined;
}
type RequiredValues = Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
interface ClientCredentials {
    readonly clientId?: string | undefined;
    readonly clientSecret?: string | undefined;
    readonly clientAuth?: "basic" | "post" | "none" | undefined;
    readonly privateKey?: KeyMaterial | undefined;
    readonly clientAssertion?: (() => string | Promise<string>) | undefined;
    readonly token?: (() => string | Promise<string>) | undefined;
}
interface IntrospectionOptions extends ClientCredentials {
    readonly endpoint: string;
    readonly cacheSec?: number | undefined;
}
type VerifyToken = (token: string) => Promise<object | null | undefined> | object | null | undefined;
interface IssuerOptions extends TokenOptions, KeyOptions {
    readonly introspection?: IntrospectionOptions | undefined;
    readonly verify?: VerifyToken | undefined;
}
export type { Audience as A, ClaimPath as C, IssuerOptions as I, RequiredValues as R, Tenants as T, VerifyToken as V, IntrospectionOptions as a, TokenOptions as b };

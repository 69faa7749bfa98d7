// Written by npm run api-report. Do not edit.
import { F as FetchFunction } from "./fetch-json.js";
import { A as Algorithm, K as KeyMaterial, a as KeyOptions } from "./key-options.js";
import { C as Claims, R as ReadSession } from "./session.js";
interface AudienceCheck {
    readonly checkedBy: "clients" | "issuer" | "introspection" | "verify";
}
type Audience = string | readonly string[] | AudienceCheck | {
    readonly all: readonly Audience[];
};
interface TokenOptions {
    readonly issuer?: string | readonly string[] | undefined;
    readonly tenants?: readonly string[] | ((tenant: string) => boolean | Promise<boolean>) | undefined;
    readonly audience?: Audience | undefined;
    readonly clients?: readonly string[] | undefined;
    readonly algorithms?: readonly Algorithm[] | undefined;
    readonly clockToleranceSec?: number | undefined;
    readonly maxTokenAgeSec?: number | undefined;
    readonly lastGoodSec?: number | undefined;
    readonly typ?: string | undefined;
    readonly idTokens?: boolean | undefined;
    readonly requiredClaims?: readonly (string | RequiredValues)[] | RequiredValues | undefined;
    readonly timesAsText?: boolean | undefined;
    readonly scopeFrom?: readonly (string | readonly string[])[] | undefined;
    readonly acrFrom?: readonly (string | readonly string[])[] | undefined;
    readonly scopeRequired?: boolean | undefined;
    readonly checkClaims?: ((claims: Claims, token: {
        readonly header: Claims;
    }) => boolean) | undefined;
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
interface IssuerOptions extends TokenOptions, KeyOptions {
    readonly introspection?: IntrospectionOptions | undefined;
    readonly verify?: ((token: string) => Promise<object | null | undefined> | object | null | undefined) | undefined;
}
export type { Audience as A, IssuerOptions as I, IntrospectionOptions as a };

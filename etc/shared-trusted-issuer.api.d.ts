// Written by npm run api-report. Do not edit.
import { F as FetchFunction } from "./fetch-json.js";
import { C as Claims, R as ReadSession } from "./session.js";
import { KeyObject, webcrypto } from "node:crypto";
type Algorithm = `${"RS" | "PS" | "ES" | "HS"}${256 | 384 | 512}` | "EdDSA" | "Ed25519" | "Ed448";
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
    readonly authTimeFrom?: string | readonly string[] | {
        readonly minutesBefore: string | readonly string[];
    } | undefined;
    readonly sidFrom?: readonly (string | readonly string[])[] | undefined;
    readonly scopeRequired?: boolean | undefined;
    readonly checkClaims?: ((claims: Claims, token: {
        readonly header: Claims;
    }) => boolean) | undefined;
    readonly session?: ReadSession | undefined;
    readonly fetch?: FetchFunction | undefined;
    readonly allowHttp?: boolean | undefined;
}
type RequiredValues = Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>;
type KeyMaterial = KeyObject | string | {
    readonly kty: string;
    readonly [member: string]: unknown;
} | Pick<webcrypto.JsonWebKey, "kty">;
type Jwk = {
    readonly kty: string;
    readonly [member: string]: unknown;
};
type FindKey = (kid: string | undefined, about: {
    readonly issuer: string;
    readonly tenant: string | undefined;
    readonly algorithm: string;
}) => KeyMaterial | undefined | Promise<KeyMaterial | undefined>;
interface KeyOptions {
    readonly key?: KeyMaterial | undefined;
    readonly keys?: readonly KeyMaterial[] | FindKey | undefined;
    readonly secret?: KeyObject | Uint8Array | string | readonly (KeyObject | Uint8Array | string | undefined)[] | undefined;
    readonly jwksUri?: string | undefined;
}
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
    readonly cacheBytes?: number | undefined;
    readonly maxCalls?: number | undefined;
}
interface IssuerOptions extends TokenOptions, KeyOptions {
    readonly introspection?: IntrospectionOptions | undefined;
    readonly verify?: ((token: string) => Promise<object | null | undefined> | object | null | undefined) | undefined;
}
export type { Algorithm as A, FindKey as F, IssuerOptions as I, Jwk as J, KeyMaterial as K, Audience as a, IntrospectionOptions as b };

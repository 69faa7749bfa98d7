// Written by npm run api-report. Do not edit.
import { KeyObject, webcrypto } from "node:crypto";
type Algorithm = "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519" | "Ed448" | "HS256" | "HS384" | "HS512";
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
export type { Algorithm as A, FindKey as F, Jwk as J, KeyMaterial as K, KeyOptions as a };

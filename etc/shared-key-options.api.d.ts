// Written by npm run api-report. Do not edit.
import { KeyObject, webcrypto } from "node:crypto";
import { J as JsonObject } from "./json.js";
type Algorithm = "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519" | "Ed448" | "HS256" | "HS384" | "HS512";
type Jwk = JsonObject & {
    readonly kty: string;
};
type KeyMaterial = KeyObject | string | Jwk | Pick<webcrypto.JsonWebKey, "kty">;
interface KeyAbout {
    readonly issuer: string;
    readonly tenant: string | undefined;
    readonly algorithm: string;
}
type FindKey = (kid: string | undefined, about: KeyAbout) => KeyMaterial | undefined | Promise<KeyMaterial | undefined>;
type Secret = KeyObject | Uint8Array | string;
interface KeyOptions {
    readonly key?: KeyMaterial | undefined;
    readonly keys?: readonly KeyMaterial[] | FindKey | undefined;
    readonly secret?: Secret | readonly (Secret | undefined)[] | undefined;
    readonly jwksUri?: string | undefined;
}
export type { Algorithm as A, FindKey as F, Jwk as J, KeyAbout as K, Secret as S, KeyMaterial as a, KeyOptions as b };

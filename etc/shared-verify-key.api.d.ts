// Written by npm run api-report. Do not edit.
import { J as JsonObject } from "./json.js";
type Algorithm = "RS256" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES256" | "ES384" | "ES512" | "EdDSA" | "Ed25519" | "HS256" | "HS384" | "HS512";
type Jwk = JsonObject & {
    readonly kty: string;
};
export type { Algorithm as A, Jwk as J };

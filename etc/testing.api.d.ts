// Written by npm run api-report. Do not edit.
import { J as Jwk } from "../shared/trusted-issuer.js";
import { Algorithm, IssuerOptions } from "../index.js";
import { Clock } from "../index.js";
import "../shared/fetch-json.js";
import "../shared/session.js";
import "node:crypto";
type DevAlgorithm = Exclude<Algorithm, `HS${string}`>;
type Attack = (typeof ATTACKS)[number];
declare const ATTACKS: readonly [
    "unsigned",
    "signature-stripped",
    "signature-of-another-token",
    "claims-changed",
    "another-key",
    "embedded-key",
    "unknown-kid",
    "key-as-secret",
    "critical-header",
    "member-twice",
    "expired",
    "never-expires",
    "not-yet-valid",
    "another-issuer",
    "another-audience",
    "id-token",
    "another-type",
    "bound-to-a-key"
];
interface DevTokenOptions {
    readonly kind?: "user" | "client" | "unauthenticated" | undefined;
    readonly clientId?: string | undefined;
    readonly scope?: string | readonly string[] | undefined;
    readonly claims?: Readonly<Record<string, unknown>> | undefined;
    readonly expiresInSec?: number | undefined;
}
interface DevIssuerOptions {
    readonly like?: IssuerOptions | undefined;
    readonly issuer?: string | undefined;
    readonly audience?: string | undefined;
    readonly algorithm?: DevAlgorithm | undefined;
    readonly date?: (() => number) | undefined;
}
interface DevIssuer<Options extends object = {
    readonly issuer: string;
    readonly audience: string;
}> {
    readonly issuer: string;
    readonly audience: string;
    readonly options: Options & {
        readonly key: Jwk;
    };
    readonly jwks: {
        readonly keys: readonly Jwk[];
    };
    down: boolean;
    token(who: string, options?: DevTokenOptions): string;
    attack(attack: Attack, who?: string): string;
    rotate(options?: {
        readonly withdrawn?: boolean | undefined;
    }): void;
    serve(): Promise<{
        readonly options: Options & {
            readonly jwksUri: string;
        };
        close(): Promise<void>;
        [Symbol.asyncDispose](): Promise<void>;
    }>;
}
declare function devIssuer(options: DevIssuerOptions & {
    readonly like: IssuerOptions;
}): DevIssuer<IssuerOptions>;
declare function devIssuer(options?: DevIssuerOptions & {
    readonly like?: undefined;
}): DevIssuer;
interface ManualClock extends Clock {
    advance(ms: number): void;
    setDate(ms: number): void;
}
declare function manualClock(date?: number): ManualClock;
export { ATTACKS, Jwk, devIssuer, manualClock };
export type { Attack, DevAlgorithm, DevIssuer, DevIssuerOptions, DevTokenOptions, ManualClock };

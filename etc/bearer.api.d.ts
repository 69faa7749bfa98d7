// Written by npm run api-report. Do not edit.
import { c as DenyOptions, M as Middleware } from "../shared/deny.js";
export { D as Denial, a as DenialError, b as DenialHeaders, E as ErrorForm, d as ErrorFormat, e as ErrorFormatOption, f as ErrorResponseOptions, I as InsufficientScopeError, g as InvalidRequestError, O as OnDenied, U as UnauthorizedError, h as UnavailableError } from "../shared/deny.js";
import { C as Clock } from "../shared/clock.js";
import { Request, Router } from "express";
import { P as Placement } from "../shared/credentials.js";
import { C as CheckClaims, R as ReadSession, F as FetchFunction, S as Session, U as UnauthenticatedMark } from "../shared/fetch-json.js";
export { A as Auth, a as Claims, b as ClientSession, c as FetchInit, d as FetchedResponse, e as SessionIdentity, T as TokenFacts, f as UnauthenticatedSession, g as UserSession } from "../shared/fetch-json.js";
import { I as IssuerOptions, b as TokenOptions, A as Audience } from "../shared/trusted-issuer.js";
export { a as AudienceInstead, C as ClaimPath, R as RequiredValues, T as Tenants } from "../shared/trusted-issuer.js";
import { K as KeyMaterial, A as Algorithm } from "../shared/key-options.js";
export { F as FindKey, J as Jwk, a as KeyOptions, S as Secret } from "../shared/key-options.js";
import { D as Dialect } from "../shared/dialect.js";
import { R as RedisClient } from "../shared/redis-client.js";
export { J as JsonObject } from "../shared/json.js";
import { IncomingMessage } from "node:http";
export { P as ProcessingTimeOptions, S as ServiceUnavailableOptions, p as processingTime, s as serviceUnavailable } from "../shared/service-unavailable.js";
import "http-errors";
import "node:crypto";
type Reason = "no_token" | "malformed_credentials" | "several_tokens" | "malformed_token" | "critical_header" | "token_type" | "id_token" | "algorithm" | "unknown_key" | "signature" | "issuer" | "audience" | "expired" | "expiry" | "not_yet_valid" | "issued_at" | "too_old" | "subject" | "client" | "token_id" | "sender_constrained" | "required_claim" | "claim_check" | "session_kind" | "authentication" | "scope" | "unauthenticated_session" | "inactive" | "revoked" | "dpop_required" | "dpop_proof" | "dpop_nonce" | "dpop_binding" | "dpop_replay" | "keys_unavailable" | "introspection_unavailable" | "verify_unavailable" | "tenants_unavailable" | "revocation_unavailable" | "dpop_unavailable";
type ReadToken = (req: Request) => string | null | undefined;
type TokenSource = Placement | {
    readonly header: string;
    readonly padded?: boolean | undefined;
} | {
    readonly cookie: string;
} | ReadToken;
type ProofUse = "new" | "replay" | "full";
interface SeenProofs {
    note(name: string, untilSec: number, nowSec: number, jkt: string): ProofUse | Promise<ProofUse>;
}
interface DpopOptions {
    readonly required?: boolean | undefined;
    readonly maxProofAgeSec?: number | undefined;
    readonly proofs?: SeenProofs | undefined;
    readonly maxProofs?: number | undefined;
    readonly nonceSecret?: string | Uint8Array | undefined;
    readonly origin?: string | readonly string[] | undefined;
}
interface ClientCredentials {
    readonly clientId?: string | undefined;
    readonly clientSecret?: string | undefined;
    readonly clientAuth?: "basic" | "post" | "none" | undefined;
    readonly privateKey?: KeyMaterial | undefined;
    readonly clientAssertion?: (() => string | Promise<string>) | undefined;
    readonly token?: (() => string | Promise<string>) | undefined;
}
interface KeyControl {
    ready(): Promise<void>;
    reload(): Promise<void>;
    keys(): readonly IssuerKey[];
}
interface IssuerKey {
    readonly issuer: string;
    readonly kid: string | undefined;
    readonly algorithms: readonly Algorithm[];
}
interface IntrospectionOptions extends ClientCredentials {
    readonly endpoint: string;
    readonly cacheSec?: number | undefined;
}
type VerifyToken = (token: string) => Promise<object | null | undefined> | object | null | undefined;
type OpaqueOptions = {
    readonly introspection: IntrospectionOptions;
    readonly verify?: undefined;
} | {
    readonly verify: VerifyToken;
    readonly introspection?: undefined;
};
type KeyOption = "key" | "keys" | "secret" | "jwksUri";
type IntrospectedIssuerOptions = TokenOptions & {
    readonly introspection: IntrospectionOptions;
} & {
    readonly [name in KeyOption]?: undefined;
};
type IssuersOptions = (IssuerOptions & {
    readonly issuers?: undefined;
    readonly introspection?: undefined;
    readonly verify?: undefined;
}) | (TokenOptions & OpaqueOptions & {
    readonly [name in KeyOption | "issuers"]?: undefined;
}) | ({
    readonly issuers: readonly (IssuerOptions | IntrospectedIssuerOptions)[];
    readonly audience?: Audience | undefined;
    readonly checkClaims?: CheckClaims | undefined;
    readonly session?: ReadSession | undefined;
    readonly fetch?: FetchFunction | undefined;
    readonly issuer?: undefined;
    readonly introspection?: undefined;
    readonly verify?: undefined;
} & {
    readonly [name in KeyOption]?: undefined;
});
interface CacheOptions {
    readonly cache?: {
        readonly maxTokens: number;
    } | false | undefined;
}
interface RevocationSource {
    state(session: Session): "valid" | "revoked" | {
        readonly behind: unknown;
    };
}
type ScopeNeeded = string | readonly string[] | {
    readonly any: readonly string[];
};
type BearerOptions = IssuersOptions & CacheOptions & DenyOptions & {
    readonly scope?: ScopeNeeded | undefined;
    readonly acr?: string | readonly string[] | undefined;
    readonly optional?: boolean | undefined;
    readonly tokenFrom?: TokenSource | readonly TokenSource[] | undefined;
    readonly dpop?: DpopOptions | boolean | undefined;
    readonly revocation?: RevocationSource | undefined;
    readonly realm?: string | undefined;
    readonly resourceMetadata?: string | undefined;
    readonly unauthenticated?: UnauthenticatedMark | undefined;
    readonly maxTokenLength?: number | undefined;
    readonly warnings?: boolean | undefined;
    readonly clock?: Clock | undefined;
};
interface BearerHandler extends Middleware, KeyControl {
    readonly check: (token: unknown, options?: {
        readonly resource?: string | undefined;
    }) => Promise<Session>;
}
declare function requireBearer(options?: BearerOptions): BearerHandler;
interface AllowUnauthenticatedOptions {
    readonly paths?: readonly string[] | undefined;
    readonly methods?: readonly string[] | undefined;
}
declare function allowUnauthenticated(options?: AllowUnauthenticatedOptions): Middleware;
interface ScopeOptions {
    readonly any?: readonly string[] | undefined;
    readonly dialect?: Dialect | undefined;
}
declare function requireScope(...scopes: readonly string[] | readonly [
    ...string[],
    ScopeOptions
]): Middleware;
interface StepUpOptions {
    readonly acr?: string | readonly string[] | undefined;
    readonly maxAgeSec?: number | undefined;
    readonly dialect?: Dialect | undefined;
}
declare function requireStepUp(options: StepUpOptions): Middleware;
interface ProtectedResourceOptions {
    readonly resource: string;
    readonly authorizationServers?: readonly string[] | undefined;
    readonly scopes?: readonly string[] | undefined;
    readonly name?: string | undefined;
    readonly documentation?: string | undefined;
    readonly bearer_methods_supported?: readonly ("header" | "body" | "query")[] | undefined;
    readonly dpop_bound_access_tokens_required?: boolean | undefined;
    readonly dpop_signing_alg_values_supported?: readonly string[] | undefined;
    readonly tls_client_certificate_bound_access_tokens?: boolean | undefined;
    readonly authorization_details_types_supported?: readonly string[] | undefined;
    readonly jwks_uri?: string | undefined;
    readonly resource_signing_alg_values_supported?: readonly string[] | undefined;
    readonly resource_policy_uri?: string | undefined;
    readonly resource_tos_uri?: string | undefined;
    readonly signed_metadata?: string | undefined;
    readonly [inLanguage: `resource_${"name" | "documentation" | "policy_uri" | "tos_uri"}#${string}`]: string | undefined;
    readonly allowHttp?: boolean | undefined;
}
type ProtectedResourceRouter = Router & {
    readonly url: string;
};
declare function protectedResource(options: ProtectedResourceOptions): ProtectedResourceRouter;
interface RedisRevocationsOptions {
    readonly prefix?: string | undefined;
    readonly tokenLifetimeSec?: number | undefined;
    readonly maxBehindMs?: number | undefined;
    readonly onBehind?: "closed" | "open" | undefined;
    readonly clock?: Clock | undefined;
}
interface RedisRevocations extends RevocationSource {
    revokeToken(issuer: string, id: string): Promise<void>;
    revokeSubject(issuer: string, sub: string, beforeSec?: number): Promise<void>;
    revokeClient(issuer: string, clientId: string, beforeSec?: number): Promise<void>;
    ready(): Promise<void>;
    close(): void;
}
declare function redisRevocations(to: RedisClient | string, options?: RedisRevocationsOptions): RedisRevocations;
interface RedisProofsOptions {
    readonly prefix?: string | undefined;
}
interface RedisProofs extends SeenProofs {
    note(name: string, untilSec: number, nowSec: number): Promise<ProofUse>;
    close(): void;
}
declare function redisProofs(to: RedisClient | string, options?: RedisProofsOptions): RedisProofs;
interface BearerEvent {
    readonly request: Request | undefined;
    readonly session: Session | undefined;
    readonly reason: Reason | undefined;
    readonly cause: unknown;
}
declare function sessionOf(req: IncomingMessage): Session;
export { Algorithm, Audience, CheckClaims, Clock, DenyOptions, Dialect, FetchFunction, IssuerOptions, KeyMaterial, Middleware, Placement, ReadSession, RedisClient, Session, TokenOptions, UnauthenticatedMark, allowUnauthenticated, protectedResource, redisProofs, redisRevocations, requireBearer, requireScope, requireStepUp, sessionOf };
export type { AllowUnauthenticatedOptions, BearerEvent, BearerHandler, BearerOptions, CacheOptions, DpopOptions, IntrospectedIssuerOptions, IntrospectionOptions, IssuerKey, IssuersOptions, KeyControl, OpaqueOptions, ProofUse, ProtectedResourceOptions, ProtectedResourceRouter, ReadToken, Reason, RedisProofs, RedisProofsOptions, RedisRevocations, RedisRevocationsOptions, RevocationSource, ScopeNeeded, SeenProofs, StepUpOptions, TokenSource, VerifyToken };

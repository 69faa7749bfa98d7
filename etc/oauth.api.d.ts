// Written by npm run api-report. Do not edit.
import { Request, Router, RequestHandler, Response } from "express";
import { Dialect } from "../index.js";
import { webcrypto, KeyObject } from "node:crypto";
import { Clock } from "../index.js";
import { FetchFunction } from "../index.js";
import { R as RedisClient } from "../shared/redis-client.js";
import "node:http";
import "../shared/session.js";
type ClaimValue = string | number | boolean | readonly ClaimValue[] | {
    readonly [member: string]: ClaimValue;
};
type UserClaims = Readonly<Record<string, ClaimValue | undefined>>;
interface User {
    readonly id: string;
    readonly username: string;
    readonly claims?: UserClaims | undefined;
}
type UserId = string | number | bigint;
interface UserRow {
    readonly id: UserId;
    readonly username?: string | null | undefined;
    readonly claims?: object | null | undefined;
}
interface LoginRefusal {
    readonly refused: string;
    readonly link?: {
        readonly text: string;
        readonly href: string;
    } | undefined;
}
interface UserDirectory {
    authenticate(username: string, password: string): Promise<UserRow | LoginRefusal | null | undefined>;
    findUser(id: string): Promise<UserRow | null | undefined>;
    findAccount?(username: string): Promise<UserId | null | undefined>;
}
interface OAuthStoreClaim {
    readonly value: string;
    readonly first: boolean;
    readonly agoMs: number;
}
interface OAuthStoreCount {
    readonly total: number;
    readonly endsInMs: number;
}
interface OAuthStore {
    set(key: string, value: string, ttlMs: number, owner?: string): Promise<void>;
    get(key: string, idleMs?: number): Promise<string | undefined>;
    claim(key: string, keepMs: number): Promise<OAuthStoreClaim | undefined>;
    count(key: string, by: number, windowMs: number, owner?: string): Promise<OAuthStoreCount>;
    close?(): Promise<void>;
}
interface ClosableOAuthStore extends OAuthStore {
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
type SigningKeyInput = string | Pick<webcrypto.JsonWebKey, "kty"> | KeyObject;
type PublicKeyInput = SigningKeyInput;
type GrantName = "authorization_code" | "refresh_token" | "client_credentials" | "unauthenticated_session";
type ResponseType = "code" | "id_token";
interface Client {
    readonly clientId: string;
    readonly name: string;
    readonly redirectUris?: readonly string[] | undefined;
    readonly postLogoutRedirectUris?: readonly string[] | undefined;
    readonly backchannelLogoutUri?: string | undefined;
    readonly realm?: string | undefined;
    readonly secretHash?: string | readonly string[] | undefined;
    readonly publicKeys?: readonly PublicKeyInput[] | undefined;
    readonly grants?: readonly GrantName[] | undefined;
    readonly scopes?: readonly string[] | undefined;
    readonly defaultScope?: readonly string[] | undefined;
    readonly audiences?: readonly string[] | undefined;
    readonly responseTypes?: readonly ResponseType[] | undefined;
    readonly requirePushedRequests?: boolean | undefined;
    readonly requireDpop?: boolean | undefined;
    readonly requirePkce?: boolean | undefined;
    readonly plainPkce?: boolean | undefined;
    readonly onwardOrigins?: readonly string[] | undefined;
    readonly identityScopes?: readonly string[] | undefined;
    readonly approval?: "ask" | "auto" | undefined;
    readonly introspection?: "own" | "audience" | "all" | undefined;
    readonly anyLocalhostPort?: boolean | undefined;
}
type ClientRow = {
    readonly [Column in keyof Client]: Column extends "clientId" | "name" ? string | number | bigint : Column extends "grants" | "responseTypes" ? readonly string[] | null | undefined : Column extends "approval" | "introspection" ? string | null | undefined : Client[Column] | null;
};
interface ClientDirectory {
    findClient(clientId: string): Promise<ClientRow | null | undefined>;
    readonly scopes?: readonly string[] | undefined;
}
interface Revocable {
    readonly jti: string;
    readonly grant_id?: string | undefined;
    readonly sid?: string | undefined;
    readonly sub?: string | undefined;
    readonly client_id?: string | undefined;
    readonly auth_time?: number | undefined;
    readonly user_mark?: string | undefined;
    readonly app_mark?: string | undefined;
}
interface ApprovedApp {
    readonly clientId: string;
    readonly name: string;
    readonly hosts: readonly string[];
    readonly scope: readonly string[];
    readonly since: Date;
}
declare const ENGLISH: {
    lang: string;
    dir: "ltr" | "rtl";
    loginTitle: string;
    loginLead: string;
    username: string;
    password: string;
    login: string;
    cancel: string;
    loginNote: string;
    wrongPassword: string;
    tooManyAttempts: string;
    tooManyLogins: string;
    pageExpired: string;
    cookiesNeeded: string;
    otherUser: string;
    otherAddress: string;
    otherAccount: string;
    termsTitle: string;
    termsLead: string;
    termsAccept: string;
    termsDecline: string;
    signedInAs: string;
    approvalTitle: string;
    approvalLead: string;
    approvalWhere: string;
    approvalWhereDevice: string;
    approvalUnchecked: string;
    approvalSource: string;
    approvalMay: string;
    approvalAct: string;
    scopes: Readonly<Record<string, string>>;
    approvalScope: string;
    approvalAccept: string;
    approvalDecline: string;
    useOther: string;
    appsTitle: string;
    appsLead: string;
    appsNone: string;
    appsSince: string;
    appsWithdraw: string;
    leaveTitle: string;
    leaveLead: string;
    leaveGo: string;
    continueTitle: string;
    continueLead: string;
    continue: string;
    logoutTitle: string;
    logoutLead: string;
    logout: string;
    loggedOutTitle: string;
    loggedOutLead: string;
    noWayBackTitle: string;
    noWayBackLead: string;
    badRequestTitle: string;
    badRequestLead: string;
    startAgainTitle: string;
    startAgainLead: string;
    tooManyTitle: string;
    tooManyLead: string;
    unavailableTitle: string;
    unavailableLead: string;
    forbiddenTitle: string;
    forbiddenLead: string;
    errorReport: string;
};
type PageTexts = Readonly<typeof ENGLISH>;
interface TermsOfAccess {
    readonly version: string;
    readonly paragraphs: readonly string[];
}
type OwnTexts = {
    readonly [Name in keyof PageTexts]?: PageTexts[Name] | undefined;
};
interface PageLink {
    readonly text: string;
    readonly href: string;
}
interface PageOptions {
    readonly brand?: string | undefined;
    readonly logo?: string | undefined;
    readonly css?: string | undefined;
    readonly texts?: OwnTexts | ((locales: readonly string[]) => OwnTexts) | undefined;
    readonly terms?: (TermsOfAccess | false | ((locales: readonly string[]) => TermsOfAccess)) | undefined;
    readonly links?: readonly PageLink[] | undefined;
    readonly openerPolicy?: "unsafe-none" | "same-origin-allow-popups" | "same-origin" | undefined;
}
interface WebsiteSession {
    readonly sid: string;
    readonly userId: string;
    readonly authTimeMs: number;
}
interface ClientMetadata {
    readonly client_id?: string | undefined;
    readonly redirect_uris: readonly string[];
    readonly client_name: string;
    readonly token_endpoint_auth_method: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
    readonly jwks?: {
        readonly keys: readonly {
            readonly kty?: string;
            readonly kid?: string;
        }[];
    } | undefined;
    readonly jwks_uri?: string | undefined;
    readonly grant_types: readonly ("authorization_code" | "refresh_token")[];
    readonly response_types: readonly "code"[];
    readonly scope?: string | undefined;
    readonly client_uri?: string | undefined;
    readonly post_logout_redirect_uris?: readonly string[] | undefined;
    readonly require_pushed_authorization_requests?: boolean | undefined;
    readonly dpop_bound_access_tokens?: boolean | undefined;
    readonly sent?: Readonly<Record<string, unknown>> | undefined;
}
interface SigningKey {
    readonly key: SigningKeyInput;
    readonly kid?: string | undefined;
    readonly activeFrom?: Date | number | undefined;
}
interface OAuthTokenIssuedMessage {
    readonly clientId: string;
    readonly grant: GrantName | "id_token";
    readonly scope: readonly string[];
    readonly bound: boolean;
}
interface OAuthLoginMessage {
    readonly clientId: string;
    readonly outcome: "succeeded" | "failed" | "refused" | "locked";
    readonly userId: string | undefined;
    readonly account: string;
    readonly address: string;
}
interface OAuthRefusedMessage {
    readonly id: string;
    readonly endpoint: string;
    readonly code: string;
    readonly status: number;
    readonly reason: string;
}
interface OAuthRevokedMessage {
    readonly what: "token" | "grant" | "session" | "user" | "approval";
    readonly id: string;
}
type OnError = (err: unknown, req: Request, report: OAuthRefusedMessage) => unknown;
interface LoginLimits {
    readonly perAccount?: number | undefined;
    readonly perAddress?: number | undefined;
    readonly windowSec?: number | undefined;
}
interface AuthorizationServerOptions {
    readonly issuer: string;
    readonly allowHttp?: boolean | undefined;
    readonly clients: ClientDirectory;
    readonly users: UserDirectory;
    readonly store?: OAuthStore | undefined;
    readonly signingKeys?: readonly SigningKey[] | undefined;
    readonly dialect?: Dialect | undefined;
    readonly tokenType?: string | undefined;
    readonly serviceScopes?: boolean | undefined;
    readonly scopes?: Readonly<Record<string, readonly string[] | false>> | undefined;
    readonly idTokenScopes?: readonly string[] | "all" | undefined;
    readonly acr?: string | undefined;
    readonly tokenFrom?: readonly ("form" | "query")[] | undefined;
    readonly accessTokens?: AccessTokenOptions | undefined;
    readonly accessTokenClaims?: AccessTokenClaimsFunction | undefined;
    readonly requirePushedRequests?: boolean | undefined;
    readonly dpop?: DpopProofOptions | undefined;
    readonly registration?: RegistrationOptions | undefined;
    readonly refreshTokens?: RefreshTokenOptions | undefined;
    readonly codeLifetimeSec?: number | undefined;
    readonly directoryTimeoutMs?: number | undefined;
    readonly websiteSession?: WebsiteSessionOptions | undefined;
    readonly login?: SignInPageOptions | undefined;
    readonly loginEvents?: "hashed" | "plain" | undefined;
    readonly loginLimits?: LoginLimits | undefined;
    readonly pages?: PageOptions | undefined;
    readonly onError?: OnError | undefined;
    readonly log?: ((line: string) => void) | undefined;
    readonly clock?: Clock | undefined;
}
interface AccessTokenOptions {
    readonly format?: "jwt" | "opaque" | undefined;
    readonly lifetimeSec?: number | undefined;
    readonly idleSec?: number | undefined;
    readonly audience?: string | readonly string[] | undefined;
}
interface DpopProofOptions {
    readonly maxProofAgeSec?: number | undefined;
    readonly nonce?: boolean | undefined;
}
interface RefreshTokenOptions {
    readonly lifetimeSec?: number | undefined;
    readonly absoluteLifetimeSec?: number | undefined;
    readonly graceSec?: number | undefined;
}
interface WebsiteSessionOptions {
    readonly lifetimeSec?: number | undefined;
    readonly idleSec?: number | undefined;
}
interface SignInPageOptions {
    readonly url: string;
}
type AccessTokenClaimsFunction = (user: (User & Readonly<Record<string, unknown>>) | undefined, client: Client, scope: readonly string[]) => unknown;
type RegistrationGrant = Partial<Pick<Client, "realm" | "scopes" | "audiences" | "onwardOrigins" | "requireDpop">>;
interface RegistrationOptions {
    readonly accept: (metadata: ClientMetadata, req: Request) => RegistrationGrant | false | Promise<RegistrationGrant | false>;
    readonly perAddress?: number | undefined;
    readonly perHour?: number | undefined;
    readonly lifetimeSec?: number | undefined;
    readonly fetch?: FetchFunction | undefined;
}
interface AccessTokenClaims {
    readonly iss: string;
    readonly sub: string;
    readonly aud: string | readonly string[];
    readonly client_id: string;
    readonly iat: number;
    readonly exp: number;
    readonly jti: string;
    readonly grant_id: string;
    readonly scope?: string;
    readonly auth_time?: number;
    readonly sid?: string;
    readonly acr?: string;
    readonly amr?: readonly string[];
    readonly user_mark?: string;
    readonly app_mark?: string;
    readonly session_kind?: "unauthenticated";
    readonly userinfo_claims?: readonly string[];
    readonly cnf?: {
        readonly jkt: string;
    };
    readonly [claim: string]: unknown;
}
interface SignInInteraction {
    readonly client: {
        readonly id: string;
        readonly name: string;
        readonly host: string;
    };
    readonly scope: readonly string[];
    readonly loginHint: string | undefined;
    readonly uiLocales: readonly string[];
    readonly acrValues: readonly string[];
    readonly maxAgeSec: number | undefined;
    readonly prompt: readonly string[];
    readonly params: Readonly<Record<string, string>>;
    readonly userIdHint?: string;
    readonly userId?: string;
}
interface SignIn {
    readonly userId: UserId;
    readonly acr?: string | undefined;
    readonly amr?: readonly string[] | undefined;
    readonly remember?: boolean | undefined;
    readonly interaction?: string | undefined;
}
interface SignInRefusal {
    readonly error?: string | undefined;
    readonly description?: string | undefined;
    readonly account?: string | undefined;
    readonly interaction?: string | undefined;
}
interface AuthorizationServer extends Router {
    readonly wellKnown: RequestHandler;
    readonly platformLogout: RequestHandler;
    readonly verify: (token: string) => Promise<AccessTokenClaims | undefined>;
    readonly revokeUser: (userId: UserId) => Promise<void>;
    readonly approvals: (userId: UserId) => Promise<readonly ApprovedApp[]>;
    readonly withdrawApproval: (userId: UserId, clientId: string) => Promise<void>;
    readonly interaction: (req: Request, id?: string) => Promise<SignInInteraction | undefined>;
    readonly authenticate: (req: Request, username: unknown, password: unknown, interaction?: string) => Promise<User | LoginRefusal | undefined>;
    readonly signIn: (req: Request, res: Response, how: SignIn) => Promise<void>;
    readonly refuse: (req: Request, res: Response, why?: SignInRefusal) => Promise<void>;
    readonly isRevoked: (claims: Revocable) => Promise<boolean>;
    readonly websiteSession: (req: Request) => Promise<WebsiteSession | undefined>;
    readonly setSigningKeys: (keys: readonly SigningKey[]) => void;
    readonly close: () => Promise<void>;
    readonly [Symbol.asyncDispose]: () => Promise<void>;
}
declare function authorizationServer(options: AuthorizationServerOptions): AuthorizationServer;
interface ClientRegistration extends Omit<Client, "secretHash"> {
    readonly secret?: string | readonly string[] | undefined;
    readonly publicKeys?: readonly PublicKeyInput[] | undefined;
}
interface ClientDirectoryOptions {
    readonly allowHttp?: boolean | undefined;
}
declare function clientDirectory(registrations: readonly ClientRegistration[], options?: ClientDirectoryOptions): ClientDirectory;
interface UserRegistration extends User {
    readonly password?: string | undefined;
    readonly passwordHash?: string | undefined;
}
interface UserDirectoryOptions {
    readonly cost?: number | undefined;
}
declare function userDirectory(registrations: readonly UserRegistration[], options?: UserDirectoryOptions): {
    authenticate(username: string, password: string): Promise<User | undefined>;
    findUser(id: string): Promise<User | undefined>;
    findAccount(username: string): Promise<string | undefined>;
};
declare class DirectoryBusyError extends Error {
    readonly retryAfterSec: number;
    constructor(retryAfterSec: number);
}
declare function hashPassword(password: string, cost?: number): Promise<string>;
declare function verifyPassword(password: string, hash: string | undefined, cost?: number): Promise<boolean>;
interface RedisOAuthStoreOptions {
    readonly prefix?: string | undefined;
}
declare function redisOAuthStore(to: RedisClient | string, options?: RedisOAuthStoreOptions): ClosableOAuthStore;
interface MemoryOAuthStoreOptions {
    readonly maxBytes?: number | undefined;
    readonly clock?: Clock | undefined;
}
declare function memoryOAuthStore(options?: MemoryOAuthStoreOptions): ClosableOAuthStore;
export { DirectoryBusyError, RedisClient, authorizationServer, clientDirectory, hashPassword, memoryOAuthStore, redisOAuthStore, userDirectory, verifyPassword };
export type { AccessTokenClaims, AccessTokenClaimsFunction, AccessTokenOptions, ApprovedApp, AuthorizationServer, AuthorizationServerOptions, ClaimValue, Client, ClientDirectory, ClientDirectoryOptions, ClientMetadata, ClientRegistration, ClientRow, ClosableOAuthStore, DpopProofOptions, GrantName, LoginLimits, LoginRefusal, MemoryOAuthStoreOptions, OAuthLoginMessage, OAuthRefusedMessage, OAuthRevokedMessage, OAuthStore, OAuthStoreClaim, OAuthStoreCount, OAuthTokenIssuedMessage, OnError, PageLink, PageOptions, PageTexts, PublicKeyInput, RedisOAuthStoreOptions, RefreshTokenOptions, RegistrationGrant, RegistrationOptions, Revocable, SignIn, SignInInteraction, SignInPageOptions, SignInRefusal, SigningKey, SigningKeyInput, TermsOfAccess, User, UserClaims, UserDirectory, UserDirectoryOptions, UserId, UserRegistration, UserRow, WebsiteSession, WebsiteSessionOptions };

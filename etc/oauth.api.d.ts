// Written by npm run api-report. Do not edit.
import { Request, Router, RequestHandler } from "express";
import { JsonWebKey, KeyObject } from "node:crypto";
import { Clock } from "../bearer/index.js";
import { Dialect } from "../bearer/index.js";
import { Placement } from "../bearer/index.js";
import { R as RedisClient } from "../shared/redis-client.js";
type SigningKeyInput = string | JsonWebKey | KeyObject;
interface SigningKey {
    readonly key: SigningKeyInput;
    readonly kid?: string;
    readonly activeFrom?: Date | number;
}
interface Claim {
    readonly value: string;
    readonly first: boolean;
    readonly agoMs: number;
}
interface Count {
    readonly total: number;
    readonly endsInMs: number;
}
interface OAuthStore {
    set(key: string, value: string, ttlMs: number): Promise<void>;
    get(key: string, idleMs?: number): Promise<string | undefined>;
    claim(key: string, keepMs: number): Promise<Claim | undefined>;
    count(key: string, by: number, windowMs: number): Promise<Count>;
}
interface Revocable {
    readonly jti: string;
    readonly grant_id?: string;
    readonly sid?: string;
    readonly sub?: string;
    readonly client_id?: string;
    readonly auth_time?: number;
    readonly user_mark?: string;
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
    readonly user_mark?: string;
    readonly session_kind?: "unauthenticated";
    readonly userinfo_claims?: readonly string[];
    readonly cnf?: {
        readonly jkt: string;
    };
}
interface WebsiteSession {
    readonly sid: string;
    readonly userId: string;
    readonly authTimeMs: number;
}
type GrantName = "authorization_code" | "refresh_token" | "client_credentials" | "unauthenticated_session";
type ResponseType = "code" | "id_token";
interface Client {
    readonly clientId: string;
    readonly name: string;
    readonly redirectUris?: readonly string[];
    readonly postLogoutRedirectUris?: readonly string[];
    readonly realm?: string;
    readonly secretHash?: string;
    readonly publicKeys?: readonly KeyObject[];
    readonly grants?: readonly GrantName[];
    readonly scopes?: readonly string[];
    readonly audiences?: readonly string[];
    readonly responseTypes?: readonly ResponseType[];
    readonly requirePushedRequests?: boolean;
    readonly requireDpop?: boolean;
    readonly requirePkce?: boolean;
    readonly plainPkce?: boolean;
    readonly onwardOrigins?: readonly string[];
    readonly identityScopes?: readonly string[];
    readonly approval?: "ask" | "auto";
    readonly anyLocalhostPort?: boolean;
}
interface ClientDirectory {
    findClient(clientId: string): Promise<Client | undefined>;
}
interface ClientMetadata {
    readonly redirect_uris: readonly string[];
    readonly client_name: string;
    readonly token_endpoint_auth_method: "none" | "client_secret_basic" | "client_secret_post";
    readonly grant_types: readonly ("authorization_code" | "refresh_token")[];
    readonly response_types: readonly "code"[];
    readonly scope?: string;
    readonly client_uri?: string;
    readonly post_logout_redirect_uris?: readonly string[];
    readonly require_pushed_authorization_requests?: boolean;
    readonly dpop_bound_access_tokens?: boolean;
}
type RegistrationGrant = Partial<Pick<Client, "realm" | "scopes" | "audiences" | "onwardOrigins" | "requireDpop">>;
interface RegistrationOptions {
    readonly accept: (metadata: ClientMetadata, req: Request) => RegistrationGrant | false | Promise<RegistrationGrant | false>;
    readonly perAddress?: number;
    readonly perHour?: number;
    readonly lifetimeSec?: number;
}
type ClaimValue = string | number | boolean | readonly ClaimValue[] | {
    readonly [member: string]: ClaimValue;
};
type UserClaims = Readonly<Record<string, ClaimValue | undefined>>;
interface User {
    readonly id: string;
    readonly username: string;
    readonly claims?: UserClaims;
}
interface UserDirectory {
    authenticate(username: string, password: string): Promise<User | undefined>;
    findUser(id: string): Promise<User | undefined>;
    findAccount?(username: string): Promise<string | undefined>;
}
interface PageTexts {
    readonly lang: string;
    readonly dir: "ltr" | "rtl";
    readonly loginTitle: string;
    readonly loginLead: string;
    readonly username: string;
    readonly password: string;
    readonly login: string;
    readonly cancel: string;
    readonly loginNote: string;
    readonly wrongPassword: string;
    readonly tooManyAttempts: string;
    readonly tooManyLogins: string;
    readonly pageExpired: string;
    readonly cookiesNeeded: string;
    readonly otherUser: string;
    readonly otherAddress: string;
    readonly termsTitle: string;
    readonly termsLead: string;
    readonly termsAccept: string;
    readonly termsDecline: string;
    readonly signedInAs: string;
    readonly approvalTitle: string;
    readonly approvalLead: string;
    readonly approvalWhere: string;
    readonly approvalWhereDevice: string;
    readonly approvalUnchecked: string;
    readonly approvalMay: string;
    readonly approvalAct: string;
    readonly scopes: Readonly<Record<string, string>>;
    readonly approvalScope: string;
    readonly approvalAccept: string;
    readonly approvalDecline: string;
    readonly leaveTitle: string;
    readonly leaveLead: string;
    readonly leaveGo: string;
    readonly continueTitle: string;
    readonly continueLead: string;
    readonly continue: string;
    readonly logoutTitle: string;
    readonly logoutLead: string;
    readonly logout: string;
    readonly loggedOutTitle: string;
    readonly loggedOutLead: string;
    readonly badRequestTitle: string;
    readonly badRequestLead: string;
    readonly unavailableTitle: string;
    readonly unavailableLead: string;
    readonly forbiddenTitle: string;
    readonly forbiddenLead: string;
    readonly errorReport: string;
}
interface TermsOfAccess {
    readonly version: string;
    readonly paragraphs: readonly string[];
}
interface PageOptions {
    readonly brand?: string;
    readonly logo?: string;
    readonly css?: string;
    readonly texts?: Partial<PageTexts> | ((locales: readonly string[]) => Partial<PageTexts>);
    readonly terms?: TermsOfAccess | false;
    readonly openerPolicy?: "unsafe-none" | "same-origin-allow-popups" | "same-origin";
}
interface LoginLimits {
    readonly perAccount: number;
    readonly perAddress: number;
    readonly windowSec: number;
}
interface TokenIssuedMessage {
    readonly clientId: string;
    readonly grant: GrantName | "id_token";
    readonly scope: readonly string[];
    readonly bound: boolean;
}
interface LoginMessage {
    readonly clientId: string;
    readonly outcome: "succeeded" | "failed" | "locked";
    readonly userId: string | undefined;
}
interface OAuthRefusedMessage {
    readonly id: string;
    readonly endpoint: string;
    readonly code: string;
    readonly status: number;
    readonly reason: string;
}
interface RevokedMessage {
    readonly what: "token" | "grant" | "session" | "client" | "user";
    readonly id: string;
}
type OnError = (err: unknown, req: Request, report: OAuthRefusedMessage) => unknown;
interface AuthorizationServerOptions {
    readonly issuer: string;
    readonly clients: ClientDirectory;
    readonly users: UserDirectory;
    readonly store?: OAuthStore;
    readonly signingKeys?: readonly SigningKey[];
    readonly dialect?: Dialect;
    readonly tokenType?: string;
    readonly scopes?: Readonly<Record<string, readonly string[] | false>>;
    readonly idTokenScopes?: readonly string[] | "all";
    readonly acr?: string;
    readonly tokenFrom?: readonly Placement[];
    readonly accessTokens?: {
        readonly format?: "jwt" | "opaque";
        readonly lifetimeSec?: number;
        readonly idleSec?: number;
        readonly audience?: string | readonly string[];
    };
    readonly requirePushedRequests?: boolean;
    readonly dpop?: {
        readonly maxAgeSec?: number;
        readonly nonce?: boolean;
    };
    readonly registration?: RegistrationOptions;
    readonly refreshTokens?: {
        readonly lifetimeSec?: number;
        readonly graceSec?: number;
    };
    readonly codeLifetimeSec?: number;
    readonly websiteSession?: {
        readonly lifetimeSec?: number;
        readonly idleSec?: number;
    };
    readonly loginLimits?: Partial<LoginLimits>;
    readonly pages?: PageOptions;
    readonly onError?: OnError;
    readonly log?: (line: string) => void;
    readonly clock?: Clock;
}
interface AuthorizationServer extends Router {
    readonly wellKnown: RequestHandler;
    readonly platformLogout: RequestHandler;
    readonly verify: (token: string) => Promise<AccessTokenClaims | undefined>;
    readonly revokeUser: (userId: string) => Promise<void>;
    readonly isRevoked: (claims: Revocable) => Promise<boolean>;
    readonly websiteSession: (req: Request) => Promise<WebsiteSession | undefined>;
    readonly setSigningKeys: (keys: readonly SigningKey[]) => void;
}
declare function authorizationServer(options: AuthorizationServerOptions): AuthorizationServer;
type RsaKeyInput = string | JsonWebKey | KeyObject;
interface ClientRegistration extends Omit<Client, "secretHash" | "publicKeys"> {
    readonly secret?: string;
    readonly publicKeys?: readonly RsaKeyInput[];
}
declare function clientDirectory(registrations: readonly ClientRegistration[]): ClientDirectory;
interface UserRegistration extends User {
    readonly password?: string;
    readonly passwordHash?: string;
}
interface UserDirectoryOptions {
    readonly cost?: number;
}
declare function userDirectory(registrations: readonly UserRegistration[], options?: UserDirectoryOptions): UserDirectory;
declare class DirectoryBusyError extends Error {
    readonly retryAfterSec: number;
    constructor(retryAfterSec: number);
}
declare function hashPassword(password: string, cost?: number): Promise<string>;
declare function verifyPassword(password: string, hash: string | undefined, cost?: number): Promise<boolean>;
interface RedisStoreOptions {
    readonly prefix?: string;
}
interface RedisStore extends OAuthStore {
    close(): void;
}
declare function redisStore(to: RedisClient | string, options?: RedisStoreOptions): RedisStore;
interface MemoryStoreOptions {
    readonly maxEntries?: number;
    readonly clock?: Clock;
}
declare function memoryStore(options?: MemoryStoreOptions): OAuthStore;
export { DirectoryBusyError, RedisClient, authorizationServer, clientDirectory, hashPassword, memoryStore, redisStore, userDirectory, verifyPassword };
export type { AccessTokenClaims, AuthorizationServer, AuthorizationServerOptions, Claim, ClaimValue, Client, ClientDirectory, ClientMetadata, ClientRegistration, Count, GrantName, LoginLimits, LoginMessage, MemoryStoreOptions, OAuthRefusedMessage, OAuthStore, OnError, PageOptions, PageTexts, RedisStore, RedisStoreOptions, RegistrationGrant, RegistrationOptions, Revocable, RevokedMessage, RsaKeyInput, SigningKey, SigningKeyInput, TermsOfAccess, TokenIssuedMessage, User, UserClaims, UserDirectory, UserDirectoryOptions, UserRegistration, WebsiteSession };

// Written by npm run api-report. Do not edit.
import { Request, Router, RequestHandler } from "express";
import { JsonWebKey, KeyObject } from "node:crypto";
import { Clock } from "../index.js";
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
}
interface AccessTokenClaims {
    readonly iss: string;
    readonly sub: string;
    readonly aud: string;
    readonly client_id: string;
    readonly iat: number;
    readonly exp: number;
    readonly jti: string;
    readonly grant_id: string;
    readonly scope?: string;
    readonly auth_time?: number;
    readonly sid?: string;
    readonly session_kind?: "unauthenticated";
}
interface WebsiteSession {
    readonly sid: string;
    readonly userId: string;
    readonly authTimeMs: number;
}
type GrantName = "authorization_code" | "refresh_token" | "client_credentials" | "unauthenticated_session";
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
    readonly requirePkce?: boolean;
    readonly plainPkce?: boolean;
    readonly onwardOrigins?: readonly string[];
}
interface ClientDirectory {
    findClient(clientId: string): Promise<Client | undefined>;
}
type UserClaims = Readonly<Record<string, string | number | boolean | undefined>>;
interface User {
    readonly id: string;
    readonly username: string;
    readonly claims?: UserClaims;
}
interface UserDirectory {
    authenticate(username: string, password: string): Promise<User | undefined>;
    findUser(id: string): Promise<User | undefined>;
}
interface PageTexts {
    readonly lang: string;
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
    readonly termsTitle: string;
    readonly termsLead: string;
    readonly termsAccept: string;
    readonly termsDecline: string;
    readonly signedInAs: string;
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
}
interface LoginLimits {
    readonly perAccount: number;
    readonly perAddress: number;
    readonly windowSec: number;
}
type OnError = (err: unknown, req: Request) => void;
interface AuthorizationServerOptions {
    readonly issuer: string;
    readonly clients: ClientDirectory;
    readonly users: UserDirectory;
    readonly store?: OAuthStore;
    readonly signingKeys?: readonly SigningKey[];
    readonly tokenType?: string;
    readonly accessTokens?: {
        readonly format?: "jwt" | "opaque";
        readonly lifetimeSec?: number;
        readonly idleSec?: number;
        readonly audience?: string;
    };
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
    readonly clock?: Clock;
}
interface AuthorizationServer extends Router {
    readonly wellKnown: RequestHandler;
    readonly platformLogout: RequestHandler;
    readonly verify: (token: string) => Promise<AccessTokenClaims | undefined>;
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
export { DirectoryBusyError, RedisClient, authorizationServer, clientDirectory, hashPassword, memoryStore, redisStore, userDirectory };
export type { AccessTokenClaims, AuthorizationServer, AuthorizationServerOptions, Claim, Client, ClientDirectory, ClientRegistration, Count, GrantName, LoginLimits, MemoryStoreOptions, OAuthStore, OnError, PageOptions, PageTexts, RedisStore, RedisStoreOptions, Revocable, RsaKeyInput, SigningKey, SigningKeyInput, TermsOfAccess, User, UserClaims, UserDirectory, UserDirectoryOptions, UserRegistration, WebsiteSession };

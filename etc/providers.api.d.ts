// Written by npm run api-report. Do not edit.
import { I as IssuerOptions } from "../shared/trusted-issuer.js";
import { Audience } from "../index.js";
import "../shared/fetch-json.js";
import "../shared/session.js";
import "node:crypto";
type ProviderOptions = Partial<IssuerOptions>;
interface Auth0Options {
    readonly domain: string;
    readonly audience: Audience;
    readonly organization?: string | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function auth0(options: Auth0Options): IssuerOptions;
type ClerkOptions = {
    readonly domain: string;
    readonly more?: ProviderOptions | undefined;
} & ({
    readonly authorizedParties: readonly string[];
    readonly azpRequired?: boolean | undefined;
    readonly impersonation?: boolean | undefined;
    readonly machine?: undefined;
} | {
    readonly machine: string;
    readonly authorizedParties?: undefined;
    readonly azpRequired?: undefined;
    readonly impersonation?: undefined;
});
declare function clerk(options: ClerkOptions): IssuerOptions;
interface CognitoOptions {
    readonly userPoolId: string;
    readonly clients: readonly string[];
    readonly more?: ProviderOptions | undefined;
}
declare function cognito(options: CognitoOptions): IssuerOptions;
type EntraOptions = {
    readonly audience: Audience;
    readonly version?: 1 | 2 | undefined;
    readonly cloud?: "us-government" | "china" | undefined;
    readonly clients?: readonly string[] | undefined;
    readonly more?: ProviderOptions | undefined;
} & ({
    readonly tenant: string;
    readonly tenants?: undefined;
} | {
    readonly tenants: readonly string[] | ((tenant: string) => boolean | Promise<boolean>);
    readonly tenant?: undefined;
});
declare function entra(options: EntraOptions): IssuerOptions;
interface FirebaseOptions {
    readonly project: string;
    readonly tenant?: string | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function firebase(options: FirebaseOptions): IssuerOptions;
interface GithubActionsOptions {
    readonly audience: Audience;
    readonly subjects?: readonly string[] | undefined;
    readonly repositories?: readonly string[] | undefined;
    readonly refs?: readonly string[] | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function githubActions(options: GithubActionsOptions): IssuerOptions;
interface GoogleOptions {
    readonly audience: Audience;
    readonly serviceAccounts?: readonly string[] | undefined;
    readonly users?: boolean | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function google(options: GoogleOptions): IssuerOptions;
interface HydraOptions {
    readonly issuer: string;
    readonly audience: Audience;
    readonly more?: ProviderOptions | undefined;
}
declare function hydra(options: HydraOptions): IssuerOptions;
interface KeycloakOptions {
    readonly realm: string;
    readonly audience: string;
    readonly roles?: "realm" | "client" | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function keycloak(options: KeycloakOptions): IssuerOptions;
interface KubernetesOptions {
    readonly issuer?: string | undefined;
    readonly audience: Audience;
    readonly serviceAccounts: readonly string[];
    readonly more: ProviderOptions;
}
declare function kubernetes(options: KubernetesOptions): IssuerOptions;
interface LogtoOptions {
    readonly domain: string;
    readonly audience: Audience;
    readonly organization?: string | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function logto(options: LogtoOptions): IssuerOptions;
interface OktaOptions {
    readonly domain: string;
    readonly server?: string | undefined;
    readonly audience?: string | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function okta(options: OktaOptions): IssuerOptions;
interface SupabaseOptions {
    readonly project: string;
    readonly url?: string | undefined;
    readonly secret?: string | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function supabase(options: SupabaseOptions): IssuerOptions;
interface ZitadelOptions {
    readonly domain: string;
    readonly project: string;
    readonly serviceUsers?: readonly string[] | undefined;
    readonly roles?: boolean | undefined;
    readonly more?: ProviderOptions | undefined;
}
declare function zitadel(options: ZitadelOptions): IssuerOptions;
export { IssuerOptions, auth0, clerk, cognito, entra, firebase, githubActions, google, hydra, keycloak, kubernetes, logto, okta, supabase, zitadel };
export type { Auth0Options, ClerkOptions, CognitoOptions, EntraOptions, FirebaseOptions, GithubActionsOptions, GoogleOptions, HydraOptions, KeycloakOptions, KubernetesOptions, LogtoOptions, OktaOptions, ProviderOptions, SupabaseOptions, ZitadelOptions };

import type { KeyObject } from 'node:crypto'
import type { PublicKeyInput } from '../keys/signing-algorithm'
import { isNative, isOnDevice, isRegistered } from './redirect-uri'

/** The grant types. */
export type GrantName = 'authorization_code' | 'refresh_token' | 'client_credentials' | 'unauthenticated_session'

/** The response types that an app may request. */
export type ResponseType = 'code' | 'id_token'

/** An app, as registered. */
export interface Client {
  /** The app key: 1 to 255 printable ASCII characters without a space. */
  readonly clientId: string
  /** Shown to users at login. */
  readonly name: string
  /** Compared byte for byte; only a loopback port may differ. */
  readonly redirectUris?: readonly string[] | undefined
  /** Where a user may be sent after logout (OIDC RP-Initiated Logout §3); only a loopback port may vary. */
  readonly postLogoutRedirectUris?: readonly string[] | undefined
  /**
   * Where this server posts a signed logout token when a user of the app signs out (OpenID Connect Back-Channel Logout 1.0):
   * `https://app.example.com/backchannel-logout`. Default: the app is not told.
   */
  readonly backchannelLogoutUri?: string | undefined
  /**
   * The part of the service to which the app belongs: `/family`. Only its presence counts: without one, requests for
   * scopes are refused. The dialect `standard` ignores it.
   */
  readonly realm?: string | undefined
  /** SHA-256 of the secret, base64url, or of both while one replaces the other: `client_secret_basic` and `_post`. */
  readonly secretHash?: string | readonly string[] | undefined
  /** Up to two public keys: `private_key_jwt`, and RSA-timestamp secrets. A KeyObject costs least; others are read each time. */
  readonly publicKeys?: readonly PublicKeyInput[] | undefined
  /** Default `authorization_code`, and `unauthenticated_session` where the server has the service's own scopes. */
  readonly grants?: readonly GrantName[] | undefined
  /** The app's own scopes, in addition to the identity scopes: `['tree.read']`. */
  readonly scopes?: readonly string[] | undefined
  /** What a request without `scope` asks for: `['openid', 'tree.read']`. Default: such a request is `invalid_scope`. */
  readonly defaultScope?: readonly string[] | undefined
  /**
   * The audiences of its tokens: `['https://api.example.org/tree']`. `resource` selects among several (RFC 8707).
   * Default: the server's.
   */
  readonly audiences?: readonly string[] | undefined
  /** Default `['code']`. `id_token` is for apps that only want a login, by `form_post`. */
  readonly responseTypes?: readonly ResponseType[] | undefined
  /** Whether authorization requests must be pushed (RFC 9126 §6). Default: the server's. */
  readonly requirePushedRequests?: boolean | undefined
  /** Whether token requests must prove a key (RFC 9449 §5.2, `dpop_bound_access_tokens`). Default false. */
  readonly requireDpop?: boolean | undefined
  /** Whether authorization requests must use PKCE. Default true; some of the service's older apps cannot. */
  readonly requirePkce?: boolean | undefined
  /** Whether PKCE's `plain` method is allowed. Default false. */
  readonly plainPkce?: boolean | undefined
  /**
   * Origins and custom schemes to which the app's redirect URIs, also those after logout, redirect further:
   * `['https://app.example.com', 'vscode:']`. Chromium checks a page's `form-action` policy against each redirect.
   */
  readonly onwardOrigins?: readonly string[] | undefined
  /** The identity scopes that it may request: `['openid', 'profile']`. Default: all scopes of the server. */
  readonly identityScopes?: readonly string[] | undefined
  /**
   * Whether users must approve the app by name, host and scopes. Default: `ask` for the redirect URIs of native apps (a
   * custom scheme, or a loopback address whose port is not registered), else `auto`. Apps that registered themselves always
   * ask.
   */
  readonly approval?: 'ask' | 'auto' | undefined
  /**
   * Which access tokens of other apps `introspect` tells it of: none (`own`), those of its `audiences` (`audience`), or `all`,
   * for a gateway. Default: `audience` for an app without redirect URIs, such as an API, else `own`.
   */
  readonly introspection?: 'own' | 'audience' | 'all' | undefined
  /**
   * Whether `http://localhost` redirect URIs match with any port, as those of loopback addresses do. Default: true for
   * self-registered apps, and for native apps whose redirect URIs all lead to the user's device.
   */
  readonly anyLocalhostPort?: boolean | undefined
}

/** An app as a directory finds it: a row of a database, whose columns without a value are null. Numbers count as digits. */
export type ClientRow = {
  readonly [Column in keyof Client]: Column extends 'clientId' | 'name'
    ? string | number | bigint
    : Column extends 'grants' | 'responseTypes'
      ? readonly string[] | null | undefined
      : Column extends 'approval' | 'introspection'
        ? string | null | undefined
        : Client[Column] | null
}

/** Finds registered apps. May reject while its source is unreachable: the server then answers 503. */
export interface ClientDirectory {
  /** The app with that key, or undefined. */
  findClient(clientId: string): Promise<ClientRow | null | undefined>
  /** The scopes of your API that apps may ask for, for the discovery document. */
  readonly scopes?: readonly string[] | undefined
}

/** An app with the metadata that it registered itself, or that its `client_id` leads to. */
export interface SelfRegisteredClient extends Client {
  /** Where its keys are, for `private_key_jwt`. Fetched with the limits of a metadata document. */
  readonly jwksUri?: string | undefined
}

/** An app that the server found: in the directory, among those that registered themselves, or at a URL. */
export interface KnownClient extends SelfRegisteredClient {
  readonly publicKeys?: readonly KeyObject[] | undefined
  readonly grants: readonly GrantName[]
  /** Whether nobody here has checked the app: it registered itself, or its `client_id` is the URL of its metadata. */
  readonly isUnverified: boolean
  /** The host of its metadata document. */
  readonly source?: string
}

/** Whether the app is registered for the grant. */
export function mayUse(client: KnownClient, grant: GrantName): boolean {
  return client.grants.includes(grant)
}

/** Whether the app has credentials, and so must authenticate (RFC 6749 §3.2.1). */
export function isConfidential({ secretHash = [], publicKeys = [], jwksUri }: SelfRegisteredClient): boolean {
  return secretHash.length > 0 || publicKeys.length > 0 || jwksUri !== undefined
}

/** Whether users must approve the app before a code goes to that redirect URI. A word that is unknown asks. */
export function asksApproval({ approval, redirectUris = [] }: Client, redirectUri: string): boolean {
  return approval === undefined ? isNative(redirectUri, redirectUris) : approval !== 'auto'
}

/** Whether the app registered that redirect URI. */
export function hasRedirectUri(client: Client, uri: string): boolean {
  return isRegistered(uri, client.redirectUris ?? [], portPolicy(client))
}

/** Whether the app registered that URI for after logout. */
export function hasPostLogoutUri(client: Client, uri: string): boolean {
  return isRegistered(uri, client.postLogoutRedirectUris ?? [], portPolicy(client))
}

function portPolicy({ anyLocalhostPort, redirectUris = [] }: Client) {
  const isNativeApp = redirectUris.every(isOnDevice) && redirectUris.some((uri) => isNative(uri, redirectUris))
  return { anyLocalhostPort: anyLocalhostPort ?? isNativeApp }
}

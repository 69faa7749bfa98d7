import { same } from '../http/options'

const INTO_APP = 'write it into an app: clients: clientDirectory([{ clientId, name, redirectUris, grants }])'

/**
 * What to write in place of other packages' options. `adapter` to `scopes` are those of oidc-provider, `model` is that of
 * oauth2-server; others belong to a directory here.
 */
export const OPTION_HINTS: Readonly<Record<string, string>> = {
  adapter:
    'write store: redisOAuthStore(url), which keeps codes, tokens and sessions, and your database in clients and users',
  jwks: 'write signingKeys: jwks.keys.map((key) => ({ key })); what stands in a PEM file is { key: pem }',
  findAccount:
    'write users: { authenticate, findUser }; findUser(id) returns { id, username, claims }. Mount what the factory ' +
    'returns, app.use(server), in place of callback()',
  ttl:
    'write accessTokens: { lifetimeSec }, refreshTokens: { lifetimeSec }, websiteSession: { lifetimeSec } and ' +
    'codeLifetimeSec; an id_token lives as long as an access token',
  interactions:
    "write login: { url: '/sign-in' } for a sign-in page of your own; its routes call server.interaction(req), and " +
    'server.signIn(req, res, { userId }) in place of interactionFinished()',
  interactionUrl: "write login: { url: '/sign-in' } for a sign-in page of your own",
  cookies: 'leave it out: cookies are secrets of 256 bits, and pages are sealed with keys that derive from signingKeys',
  claims: "write scopes: { profile: ['name', 'picture'] }, the claims of each scope",
  extraTokenClaims: 'write accessTokenClaims: (user, client, scope) => ({ … })',
  loadExistingGrant: "leave it out: approvals are kept by the server; an app's approval: 'auto' asks nobody",
  features: 'each has an option of its own: registration, dpop, requirePushedRequests; the others are on',
  pkce: "leave it out: PKCE is required; an app's requirePkce: false lifts that",
  clientDefaults: 'write the values into each app of clientDirectory([…])',
  ...same(
    'leave it out: apps in browsers may call the endpoints that they need from any origin',
    'clientBasedCORS',
    'cors',
    'allowedOrigins',
  ),
  issueRefreshToken: "write grants: ['authorization_code', 'refresh_token'] into the app",
  rotateRefreshToken:
    'leave it out: refresh tokens always rotate; refreshTokens: { graceSec } allows for lost responses',
  conformIdTokenClaims: "write idTokenScopes: [] for true, 'all' for false",
  responseTypes: 'write responseTypes into the app',
  renderError: 'write pages: { brand, css, texts } for the look, onError and log for what went wrong',
  acrValues: "write acr: '1', the strength of a login here",
  model: 'write clients: { findClient }, users: { authenticate, findUser } and store: redisOAuthStore(url)',
  secret: 'write signingKeys: [{ key: pem }], a private key that all processes share',
  ...same("write issuer: 'https://ident.example.org'", 'baseURL', 'baseUrl', 'url', 'issuerUrl'),
  findClient: 'write clients: { findClient }',
  ...same('write users: { authenticate, findUser }', 'findUser', 'authenticate', 'findAccountById'),
  ...same(INTO_APP, 'redirectUris', 'clientId', 'grants', 'grantTypes', 'allowedGrants'),
  ...same('write accessTokens: { lifetimeSec: 3_600 }', 'expiresIn', 'accessTokenLifetime', 'tokenLifetime'),
  refreshTokenLifetime: 'write refreshTokens: { lifetimeSec: 2_592_000 }',
  routes: 'leave it out: clients find the endpoints in the metadata; mount the router at the path of the issuer',
  subjectTypes: 'leave it out: a user has one sub for all apps',
}

/** What to write in place of an app's client metadata (RFC 7591 §2), which configurations of other servers list. */
export const METADATA_HINTS: Readonly<Record<string, string>> = {
  ...same('write clientId', 'client_id', 'id'),
  client_secret: 'write secret',
  client_name: 'write name',
  redirect_uris: 'write redirectUris',
  post_logout_redirect_uris: 'write postLogoutRedirectUris',
  grant_types: "write grants: ['authorization_code', 'refresh_token']",
  response_types: "write responseTypes, or leave it out for ['code']",
  scope: "write scopes: ['read', 'write'], a list",
  token_endpoint_auth_method: 'leave it out: an app with a secret or publicKeys proves itself, any other is public',
  jwks: 'write publicKeys, a list of up to two keys',
  require_pushed_authorization_requests: 'write requirePushedRequests',
  dpop_bound_access_tokens: 'write requireDpop',
  backchannel_logout_uri: 'write backchannelLogoutUri',
}

/** What to write in place of a user's properties that are none here. */
export const USER_HINTS: Readonly<Record<string, string>> = {
  ...same('write claims: { name, email }, which apps get by scope', 'name', 'email', 'roles', 'given_name'),
  ...same('write id', 'sub', 'userId'),
}

import { type Hints, same } from '../http/options'
import { ASYMMETRIC, SYMMETRIC } from './keys/algorithm'

const AGE =
  'write maxTokenAgeSec for the age of the token (iat), or requireStepUp({ maxAgeSec }) for the time since the login ' +
  '(auth_time)'
const INTROSPECTION = 'write introspection: { endpoint, clientId, clientSecret } for opaque tokens; JWTs need neither'
const MOUNT =
  "leave it out: mount public routes before it, or mount it on a path: app.use('/api', requireBearer({ … }))"
const REQUIRED = (value: unknown) =>
  value === false ? 'write optional: true' : 'leave it out: a token is required anyway'
const TOKEN =
  'write tokenFrom: (req) => the token or undefined; the Authorization field is read anyway. Handlers read ' +
  'req.auth.claims, where they read req.auth or req.user'
const KEYS = "leave it out: keys are kept as long as the issuer's Cache-Control says"

/**
 * What to write in place of names with two readings, of options of express-oauth2-jwt-bearer, express-jwt, passport-jwt and
 * jwks-rsa, and of common names.
 */
export const OPTION_HINTS: Hints = {
  ...same(AGE, 'maxAgeSec', 'maxAge'),
  maxTokenAge: 'write maxTokenAgeSec: 3600, in seconds',
  ...same('write clockToleranceSec: 5, in seconds', 'clockTolerance', 'leeway'),
  issuerBaseURL:
    "write issuer: 'https://acme.eu.auth0.com/', as iss of the tokens has it, mostly with a slash at the end; " +
    'handlers read req.auth.claims, where they read req.auth.payload',
  tokenSigningAlg: (value) =>
    `write algorithms: ['${[...ASYMMETRIC, ...SYMMETRIC].find((known) => known === value) ?? 'RS256'}'], a list; most need none, as each key ` +
    'is for its own algorithm',
  strict: "write typ: 'at+jwt', and requiredClaims: ['client_id', 'jti']",
  validators: 'write requiredClaims: { claim: value }, or checkClaims: (claims) => true',
  mcd: "write issuers: [{ issuer, audience }, { issuer, audience }], or for a function issuer: 'https://{domain}/' with tenants",
  cache:
    'write cacheBytes: 32_000_000 for verified tokens; keys are kept as long as the Cache-Control of the issuer says',
  ...same(KEYS, 'cacheMaxAge', 'cooldownDuration', 'timeoutDuration', 'cacheMaxEntries', 'jwksRequestsPerMinute'),
  ...same(REQUIRED, 'authRequired', 'credentialsRequired'),
  ...same(TOKEN, 'getToken', 'jwtFromRequest'),
  isRevoked: "write revocation: redisRevocations(redis), or revocation: { state: (session) => 'valid' }",
  requestProperty: 'leave it out: handlers read sessionOf(req).claims, or req.auth.claims',
  onExpired: "write onDenied: (err, req, res, next) => next(err), where err.reason is 'expired'",

  ...same('write secret for a shared secret, or key for a public key', 'secretOrKey', 'publicKey', 'certificate'),
  secretOrKeyProvider: 'write keys: async (kid) => …, or jwksUri',
  ignoreExpiration: 'leave it out: an expired token is always refused',

  jwks: 'write keys: jwks.keys, or jwksUri',
  domain:
    "write issuer: 'https://acme.eu.auth0.com/', or use auth0({ domain, audience }) of express-tollgate/providers",
  iss: 'write issuer',
  aud: 'write audience',
  ...same(INTROSPECTION, 'clientId', 'clientID', 'clientSecret', 'introspectionUrl', 'introspectionEndpoint'),
  ...same("write scope: ['admin'], and scopeFrom: ['roles'] for the claim that has them", 'roles', 'permissions'),
  requiredScopes: "write scope: ['read', 'write']",
  ...same(MOUNT, 'unless', 'exclude', 'path', 'paths', 'publicPaths', 'skip', 'ignore'),
  cookie: "write tokenFrom: { cookie: 'token' }",
  header: "write tokenFrom: { header: 'X-Forwarded-Access-Token' }",
  onError: 'write onDenied: (err, req, res, next) => next(err)',
}

/** What to write in place of names of RFC 9470, and of other claims, in `requireStepUp()`. */
export const STEP_UP_HINTS: Hints = {
  ...same("write acr: 'mfa', and in requireBearer() acrFrom: ['amr'], the claim that has it", 'amr', 'mfa'),
}

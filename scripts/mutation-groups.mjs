// What of lib/bearer and lib/providers is mutated together, and which specs of spec/bearer guard it, the quickest first.
// `typescript`: the specs load TypeScript as they run. `processes`: they start processes, and it is these that a mutant
// shows in, so that nothing can be said of which test reaches it.

/** @type {Record<string, { files: string[], specs: string[], typescript?: boolean, processes?: boolean }>} */
export const GROUPS = {
  claims: {
    files: [
      ...['../http/json', 'credentials/jws', 'session/scope', 'session/claim-path', 'session/session', 'claims/claims'],
      'claims/tenants',
    ],
    specs: [
      ...['floor', 'require-bearer', 'issuers/introspection', 'policies', 'bearer-options', 'claims/claim-options'],
      ...['reasons', 'issuer-warnings', 'issuers/tenants', 'issuers/providers'],
    ],
    typescript: true,
  },
  signature: {
    files: [
      ...['keys/algorithm', 'keys/key-source', 'keys/signature', 'keys/verify-key', 'issuers/known-tokens'],
      ...['issuers/jwt-verifier', 'issuers/tenant-keys'],
    ],
    specs: [
      ...[
        'keys/keys',
        'floor',
        'bearer-options',
        'issuers/issuers',
        'keys/algorithms',
        'issuers/known-tokens',
        'reasons',
      ],
      ...['issuer-warnings', 'issuers/tenants', 'keys/remote-keys', 'issuers/providers'],
    ],
    typescript: true,
  },
  request: {
    files: [
      ...[
        'credentials/credentials',
        'authenticate',
        'require-bearer',
        'request-session',
        'refusal/refusal',
        'diagnostics',
      ],
      ...['challenge', 'session-of', 'issuer-warnings', '../http/fetch-failure'],
    ],
    specs: [
      ...['challenge', 'floor', 'require-bearer', 'credentials/placements', 'reasons', 'policies', 'dpop/dpop'],
      'allow-unauthenticated',
      ...['../throttle/subject', '../index', 'issuer-warnings', 'session-of', 'bearer-options', 'claims/claim-options'],
      ...['issuers/introspection', 'issuers/known-tokens', 'issuers/presets'],
    ],
  },
  guards: {
    files: [
      'require-scope',
      'require-authentication',
      'protected-resource',
      'allow-unauthenticated',
      '../http/dot-segments',
    ],
    specs: ['require-scope', 'policies', 'allow-unauthenticated', 'bearer-options'],
  },
  options: {
    files: [
      ...['bearer-config', 'claims/claim-options', '../http/secure-url', 'issuers/verifier-options'],
      'issuers/trusted-issuer',
    ],
    specs: [
      ...['claims/claim-options', 'issuers/tenants'],
      ...['bearer-options', 'policies', 'issuers/introspection', 'issuers/issuers', 'credentials/placements'],
      ...['issuers/known-tokens', 'dpop/dpop', 'require-bearer', 'keys/remote-keys'],
    ],
  },
  keys: {
    files: ['keys/remote-keys', 'keys/jwks', '../http/fetch-json', 'issuers/discovery'],
    specs: ['keys/remote-keys'],
  },
  opaque: {
    files: ['issuers/introspection', 'issuers/custom-verifier', 'issuers/mixed-verifier'],
    specs: ['issuer-warnings', 'issuers/introspection'],
  },
  dpop: {
    files: ['dpop/dpop-check', 'dpop/proof', 'dpop/seen-proofs', 'dpop/thumbprint', 'dpop/nonces'],
    specs: ['dpop/dpop'],
  },
  'dpop-redis': { files: ['dpop/redis-proofs'], specs: ['dpop/dpop-processes'], processes: true },
  revocation: {
    files: ['revocation/redis-revocations', 'revocation/revocation-list', 'revocation/earlier-keys'],
    specs: ['revocation/revocation', 'revocation/earlier-keys'],
  },
  providers: {
    files: [
      ...['auth0', 'clerk', 'cognito', 'entra', 'firebase', 'github-actions', 'google', 'hydra', 'keycloak'],
      ...['kubernetes', 'logto', 'okta', 'provider', 'supabase', 'zitadel'],
    ].map((name) => `../providers/${name}`),
    specs: ['issuers/presets', 'issuers/providers'],
    typescript: true,
  },
}

// What of lib/bearer is mutated together, and which specs of spec/bearer guard it, the quickest first.

/** @type {Record<string, { files: string[], specs: string[] }>} */
export const GROUPS = {
  claims: {
    files: ['../http/json', 'credentials/jws', 'session/scope', 'session/session', 'claims/claims'],
    specs: ['floor', 'require-bearer', 'issuers/introspection', 'policies'],
  },
  signature: {
    files: [
      ...['keys/algorithm', 'keys/key-source', 'keys/signature', 'keys/verify-key', 'keys/verified-cache'],
      'issuers/jwt-verifier',
    ],
    specs: ['keys/keys', 'floor', 'bearer-options', 'issuers/issuers', 'keys/algorithms', 'keys/verified-cache'],
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
      'challenge',
    ],
    specs: [
      ...['challenge', 'floor', 'require-bearer', 'credentials/placements', 'reasons', 'policies', 'dpop/dpop'],
      'allow-unauthenticated',
      '../throttle/subject',
    ],
  },
  guards: {
    files: ['require-scope', 'require-authentication', 'protected-resource', 'allow-unauthenticated'],
    specs: ['require-scope', 'policies', 'allow-unauthenticated', 'bearer-options'],
  },
  options: {
    files: [
      ...['bearer-config', 'claims/claim-options', '../http/secure-url', 'issuers/verifier-options'],
      'issuers/trusted-issuer',
    ],
    specs: [
      ...['bearer-options', 'policies', 'issuers/introspection', 'issuers/issuers', 'credentials/placements'],
      ...['keys/verified-cache', 'dpop/dpop', 'require-bearer', 'keys/remote-keys'],
    ],
  },
  keys: {
    files: ['keys/remote-keys', 'keys/jwks', '../http/fetch-json', 'issuers/discovery'],
    specs: ['keys/remote-keys'],
  },
  opaque: { files: ['issuers/introspection', 'issuers/custom-verifier'], specs: ['issuers/introspection'] },
  dpop: {
    files: ['dpop/dpop-check', 'dpop/proof', 'dpop/seen-proofs', 'dpop/thumbprint', 'dpop/nonces'],
    specs: ['dpop/dpop'],
  },
  'dpop-redis': { files: ['dpop/redis-proofs'], specs: ['dpop/dpop-processes'] },
  revocation: {
    files: ['revocation/redis-revocations', 'revocation/revocation-list', 'revocation/earlier-keys'],
    specs: ['revocation/revocation', 'revocation/earlier-keys'],
  },
}

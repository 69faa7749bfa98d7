// What of lib/bearer is mutated together, and which specs of spec/bearer guard it, the quickest first.

/** @type {Record<string, { files: string[], specs: string[] }>} */
export const GROUPS = {
  claims: {
    files: ['json', 'jws', 'scope', 'session', 'claims'],
    specs: ['floor', 'require-bearer', 'introspection', 'policies'],
  },
  signature: {
    files: ['algorithm', 'key-source', 'signature', 'verify-key', 'jwt-verifier', 'verified-cache'],
    specs: ['keys', 'floor', 'bearer-options', 'issuers', 'algorithms', 'verified-cache'],
  },
  request: {
    files: ['credentials', 'authenticate', 'require-bearer', 'request-session', 'refusal', 'diagnostics', 'challenge'],
    specs: [
      ...['challenge', 'floor', 'require-bearer', 'placements', 'reasons', 'policies', 'dpop', 'allow-unauthenticated'],
      '../throttle/subject',
    ],
  },
  guards: {
    files: ['require-scope', 'require-authentication', 'protected-resource', 'allow-unauthenticated'],
    specs: ['require-scope', 'policies', 'allow-unauthenticated', 'bearer-options'],
  },
  options: {
    files: ['bearer-config', 'claim-options', 'url', 'verifier-options', 'trusted-issuer'],
    specs: [
      ...['bearer-options', 'policies', 'introspection', 'issuers', 'placements', 'verified-cache', 'dpop'],
      ...['require-bearer', 'remote-keys'],
    ],
  },
  keys: { files: ['remote-keys', 'jwks', 'fetch-json', 'discovery'], specs: ['remote-keys'] },
  opaque: { files: ['introspection', 'custom-verifier'], specs: ['introspection'] },
  dpop: {
    files: ['dpop/dpop-check', 'dpop/proof', 'dpop/seen-proofs', 'dpop/thumbprint', 'dpop/nonces'],
    specs: ['dpop'],
  },
  'dpop-redis': { files: ['dpop/redis-proofs'], specs: ['dpop-processes'] },
  revocation: {
    files: ['revocation/redis-revocations', 'revocation/revocation-list', 'revocation/redis-connection'],
    specs: ['revocation'],
  },
}

// What of lib/bearer is mutated together, and which specs of spec/bearer guard it, the quickest first.
const policies = [
  'require-scope',
  'allow-unauthenticated',
  'require-bearer',
  'policies',
  'verified-cache',
  'introspection',
  'dpop',
]
const core = ['floor', 'bearer-options', 'issuers', 'algorithms', ...policies]

/** @type {Record<string, { files: string[], specs: string[] }>} */
export const GROUPS = {
  revocation: {
    files: ['revocation/redis-revocations', 'revocation/revocation-list', 'revocation/redis-connection'],
    specs: ['revocation'],
  },
  keys: { files: ['remote-keys', 'jwks', 'fetch-json', 'discovery'], specs: ['remote-keys'] },
  dpop: { files: ['dpop/dpop-check', 'dpop/proof', 'dpop/seen-proofs', 'dpop/thumbprint'], specs: ['dpop'] },
  opaque: { files: ['introspection', 'custom-verifier'], specs: ['introspection'] },
  options: {
    files: ['bearer-config', 'claim-options', 'trusted-issuer', 'url', 'verifier-options'],
    specs: [...core, 'remote-keys'],
  },
  edge: {
    files: [
      'allow-unauthenticated',
      'diagnostics',
      'protected-resource',
      'refusal',
      'request-session',
      'require-authentication',
      'require-bearer',
      'require-scope',
      'verified-cache',
    ],
    specs: core,
  },
  token: {
    files: ['credentials', 'json', 'jws', 'claims', 'scope', 'session', 'authenticate'],
    specs: core,
  },
  signature: {
    files: ['algorithm', 'challenge', 'key-source', 'signature', 'verify-key', 'jwt-verifier'],
    specs: core,
  },
}

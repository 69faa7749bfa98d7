import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import {
  allowUnauthenticated,
  protectedResource,
  redisProofs,
  redisRevocations,
  requireStepUp,
  requireBearer,
  type BearerOptions,
  type ProtectedResourceOptions,
} from '../../lib'
import { devIssuer } from '../../lib/testing'
import { optionNames } from '../support/option-names'
import { generateKeys } from '../support/generate-keys'
import { assertIs, above } from '../support/until'

const { options: dev } = devIssuer()
const issuer = 'https://as.test'
const audience = 'https://api.test'
const pem = generateKeys('rsa').publicKey
const jwk = pem.export({ format: 'jwk' })

// Wrong options, and the error for each, are in corpora/wrong-calls.json.

describe('requireBearer() throws at startup', () => {
  it('naming all there are', () => {
    assert.throws(() => requireBearer({ ...dev, nope: 1 } as BearerOptions), {
      message: /^requireBearer\(\) has no option "nope"; it has issuer, (\w+, ){30,}clock \(/,
    })
  })

  it('and for nothing that is right', () => {
    const right: object[] = [
      ...['http://localhost/keys', 'http://127.0.0.1/keys', 'http://[::1]/keys'].map((jwksUri) => ({
        ...{ issuer, audience, jwksUri },
      })),
      { issuer, audience, jwksUri: 'http://as.test/keys', allowHttp: true },
      { issuer: 'http://as.test', audience, allowHttp: true },
      { issuer, audience, keys: [{ ...jwk, kid: 'a' }, { ...jwk, kid: 'b' }, jwk] },
      { issuer, audience, keys: [{ ...jwk, kid: 'a' }, { ...dev.key, kid: 'a' }, jwk, pem, dev.key] },
      ...['guest', 7, true].map((value) => ({ ...dev, unauthenticated: { claim: 'kind', value } })),
      { ...dev, requiredClaims: [], scopeFrom: [] },
      { ...dev, requiredClaims: { staff: false, level: 0, use: '' }, audience: ['a', 'b'], clients: ['app'] },
      { ...dev, issuer: 'https://as.test/{tid}', tenants: ['acme', 'x'.repeat(128), '0.a_b-c'] },
      { ...dev, issuer: ['https://as.test', 'https://as.test/old'] },
      { ...dev, session: () => ({ kind: 'user' }) },
      { ...dev, revocation: { state: () => undefined } },
      { ...dev, resourceMetadata: 'https://api.test/.well-known/oauth-protected-resource' },
      { ...dev, clockToleranceSec: 300, maxTokenAgeSec: 31_536_000, lastGoodSec: 0, tokenFrom: ['form', 'query'] },
      { ...dev, realm: 'tree', errorFormat: { json: 'application/json' }, cacheBytes: 5_000, optional: true },
    ]
    for (const options of right) assert.doesNotThrow(() => requireBearer(options))
  })
})

describe('allowUnauthenticated() throws at startup', () => {
  it('for a path that Express does not take', () => {
    assert.throws(() => allowUnauthenticated({ paths: ['/a('] }), /paths.*Express does not take/)
  })
})

describe('every factory of the bearer check, given what no option takes', () => {
  const redis = 'redis://127.0.0.1:1'
  const factories: readonly [string, (options: object) => unknown, object, readonly string[]][] = [
    [
      'requireBearer()',
      (options) => requireBearer(options),
      { ...dev },
      optionNames((options) => requireBearer({ ...dev, ...options })),
    ],
    ...['keys', 'secret', 'jwksUri', 'introspection', 'verify'].map((source): (typeof factories)[number] => [
      `requireBearer({ ${source} })`,
      (options) => requireBearer(options),
      { issuer, audience },
      [source],
    ]),
    ['requireBearer({ issuers })', (options) => requireBearer(options), { audience }, ['issuers']],
    [
      'requireBearer({ dpop })',
      (dpop) => requireBearer({ ...dev, dpop }),
      {},
      ['required', 'maxProofAgeSec', 'proofs', 'maxProofs', 'nonceSecret', 'origin'],
    ],
    [
      'requireBearer({ introspection })',
      (introspection) => requireBearer({ issuer, audience, introspection } as BearerOptions),
      { endpoint: 'https://as.test', clientId: 'a', clientSecret: 'b' },
      ['endpoint', 'clientId', 'clientSecret', 'cacheSec'],
    ],
    [
      'redisRevocations()',
      (options) => redisRevocations(redis, options),
      {},
      ['prefix', 'tokenLifetimeSec', 'maxOutageMs', 'onOutage', 'clock'],
    ],
    ['redisProofs()', (options) => redisProofs(redis, options), {}, ['prefix']],
    ['allowUnauthenticated()', (options) => allowUnauthenticated(options), { paths: ['/x'] }, ['paths', 'methods']],
    ['requireStepUp()', (options) => requireStepUp(options), { maxAgeSec: 5 }, ['acr', 'maxAgeSec', 'dialect']],
    [
      'protectedResource()',
      (options) => protectedResource(options as ProtectedResourceOptions),
      { resource: 'https://api.test' },
      ['resource', 'authorizationServers', 'scopes', 'name', 'documentation'],
    ],
  ]
  for (const [title, make, base, options] of factories) {
    it(`${title} names the option`, () => {
      assertIs(options.length, above(0))
      for (const option of options) {
        for (const value of [null, -1, NaN, [null], [[]], Symbol('x'), { other: [null] }, 9n]) {
          assert.throws(
            () => make({ ...base, [option]: value }),
            (err: Error) => (err instanceof TypeError || err instanceof RangeError) && err.message.includes(option),
            `${option}: ${inspect(value)}`,
          )
        }
      }
    })
  }
})

import assert from 'node:assert/strict'
import { createPublicKey, createSecretKey, randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import {
  allowUnauthenticated,
  protectedResource,
  redisProofs,
  redisRevocations,
  requireStepUp,
  requireBearer,
  requireScope,
  type BearerOptions,
  type ProtectedResourceOptions,
} from '../../lib'
import { devIssuer } from '../../lib/testing'
import { optionNames } from '../support/option-names'
import { generateKeys } from '../support/generate-keys'

const { options: dev } = devIssuer()
const issuer = 'https://as.test'
const audience = 'https://api.test'
const rsa = generateKeys('rsa')
/** A public key of 1,024 bits, made beforehand: small keys can take OpenSSL for ever. */
const weak = {
  publicKey: createPublicKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      e: 'AQAB',
      n: '2RJvlNZ7LW9QcW8NSoewYy_gcah70rSw8_tLAymgwSahgOk2hGq7Ptijc0G0Mm4nEZR6K3kmCUQPdaPAr78Ye5A6komlZTFnL7QV4XsrQcvSUr7Z07Ut9C7DTQ3VIaXcPsPiAz4olJl2O_Yh3MZblOPavCUoa0oaDSeD0IQywwk',
    },
  }),
}
const k256 = generateKeys('ec', 'secp256k1')
const jwk = rsa.publicKey.export({ format: 'jwk' })
const secretText = 'not-to-be-shown-'.repeat(4)

describe('requireBearer() throws at startup and names the option', () => {
  const wrong: readonly [string, unknown, RegExp][] = [
    ['no options at all', undefined, /issuer.*ISSUER_BASE_URL/],
    ['options that are none', 'https://as.test', /requireBearer\(\) takes an object/],
    ['an option unknown', { ...dev, audiense: 'x' }, /no option "audiense"/],
    ['issuer of a wrong type', { ...dev, issuer: /as\.test/ }, /issuer.*\/as\\.test\//],
    ['issuer empty', { ...dev, issuer: '' }, /issuer/],
    ['audience missing', { issuer, key: jwk }, /audience.*AUDIENCE/],
    ['audience a list with one that is empty', { ...dev, audience: ['a', ''] }, /audience/],
    ['audience empty', { ...dev, audience: '' }, /audience/],
    ['audience an empty list', { ...dev, audience: [] }, /audience/],
    ['audience a RegExp', { ...dev, audience: /x/ }, /audience.*\/x\//],
    ['two sources of keys', { ...dev, jwksUri: 'https://as.test/keys' }, /key and jwksUri contradict/],
    ['a secret beside a key', { ...dev, secret: secretText }, /key and secret contradict/],
    ['jwksUri over http', { issuer, audience, jwksUri: 'http://as.test/keys' }, /jwksUri.*http:\/\/as\.test/],
    ['jwksUri of another scheme', { issuer, audience, allowHttp: true, jwksUri: 'ftp://as.test/keys' }, /jwksUri/],
    ['jwksUri with a user name', { issuer, audience, jwksUri: 'https://u@as.test/keys' }, /jwksUri/],
    ['jwksUri with a password', { issuer, audience, jwksUri: 'https://:p@as.test/keys' }, /jwksUri/],
    ['jwksUri with credentials', { issuer, audience, jwksUri: 'https://u:p@as.test/keys' }, /jwksUri/],
    ['an issuer to discover that is no URL', { issuer: 'as.test', audience }, /issuer must be an https URL/],
    [
      'an issuer to discover over http',
      { issuer: 'http://as.test', audience },
      /issuer must be an https URL.*keys, secret or jwksUri; received 'http:\/\/as.test'/,
    ],
    ['keys empty', { issuer, audience, keys: [] }, /keys must be a list/],
    ['keys no list', { issuer, audience, keys: jwk }, /keys must be a list/],
    [
      'a kid twice',
      {
        issuer,
        audience,
        keys: [
          { ...devIssuer().options.key, kid: 'a' },
          { ...dev.key, kid: 'a' },
        ],
      },
      /keys.*kid 'a'/,
    ],
    ['key a private KeyObject', { issuer, audience, key: rsa.privateKey }, /key.*private/],
    [
      'key a private PEM',
      { issuer, audience, key: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) },
      /private/,
    ],
    ['key a private JWK', { issuer, audience, key: rsa.privateKey.export({ format: 'jwk' }) }, /key.*private/],
    ['key a shared secret', { issuer, audience, key: createSecretKey(randomBytes(32)) }, /key.*option secret/],
    ['key an oct JWK', { issuer, audience, key: { kty: 'oct', k: 'AAAA' } }, /key.*option secret/],
    ['key no PEM', { issuer, audience, key: 'hello' }, /key.*no PEM/],
    ['key no key', { issuer, audience, key: 7 }, /key.*no JWK/],
    ['keys with one that is none', { issuer, audience, keys: [jwk, { kty: 'oct' }] }, /^keys\[1\] cannot be used: /],
    ['key for encryption', { issuer, audience, key: { ...jwk, use: 'enc' } }, /key.*use/],
    ['key for signing only', { issuer, audience, key: { ...jwk, key_ops: ['sign'] } }, /key.*key_ops/],
    ['key of a broken JWK', { issuer, audience, key: { kty: 'RSA', n: 'x' } }, /key.*JWK/],
    ['key with a kid that is no text', { issuer, audience, key: { ...jwk, kid: 1 } }, /key.*kid/],
    ['key of another alg', { issuer, audience, key: { ...jwk, alg: 'RSA-OAEP' } }, /key.*alg/],
    ['key of an alg for another type', { issuer, audience, key: { ...jwk, alg: 'ES256' } }, /key.*ES256 takes/],
    ['an RSA key of 1,024 bits', { issuer, audience, key: weak.publicKey }, /key.*2048.*1024/],
    ['a curve of no algorithm', { issuer, audience, key: k256.publicKey }, /key.*fits none/],
    ['a secret too short', { issuer, audience, secret: 'short' }, /secret.*32 bytes.*has 5/],
    ['a secret too short for HS512', { issuer, audience, secret: 'x'.repeat(63), algorithms: ['HS512'] }, /64 bytes/],
    [
      'a secret of two algorithms',
      { issuer, audience, secret: secretText, algorithms: ['HS256', 'HS384'] },
      /^algorithms must name one of HS256, HS384, HS512 for secret; received \[ 'HS256', 'HS384' \]/,
    ],
    [
      'a secret and jwksUri without an algorithm for the secret',
      { issuer, audience, secret: secretText, jwksUri: 'https://as.test/jwks', algorithms: ['ES256'] },
      /algorithms must name one of HS256, HS384, HS512 for secret; received \[\]/,
    ],
    [
      'a secret and jwksUri without an algorithm for jwksUri',
      { issuer, audience, secret: secretText, jwksUri: 'https://as.test/jwks', algorithms: ['HS256'] },
      /algorithms must name one of RS256, RS384, .*, Ed448 for jwksUri; received \[ 'HS256' \]/,
    ],
    [
      'a secret, jwksUri and a key',
      { ...dev, secret: secretText, jwksUri: 'https://as.test/jwks' },
      /key and secret and jwksUri contradict/,
    ],
    [
      'a secret that is none',
      { issuer, audience, secret: 7 },
      /secret cannot be used: it is no text, bytes or KeyObject/,
    ],
    ['algorithms with one for another use', { ...dev, algorithms: ['none'] }, /algorithms must be among RS256, RS384/],
    ['algorithms a text', { ...dev, algorithms: 'RS256' }, /algorithms.*'RS256'/],
    ['algorithms empty', { ...dev, algorithms: [] }, /algorithms/],
    ['algorithms with none', { ...dev, algorithms: ['none'] }, /algorithms.*'none'/],
    [
      'a shared algorithm for a key',
      { ...dev, algorithms: ['ES256', 'HS256'] },
      /algorithms must be among RS256, .*, Ed448 here; received 'HS256'/,
    ],
    [
      'a key’s algorithm for a secret',
      { issuer, audience, secret: secretText, algorithms: ['RS256'] },
      /algorithms must be among HS256, HS384, HS512 here; received 'RS256'/,
    ],
    ['clockToleranceSec a text', { ...dev, clockToleranceSec: '5' }, /clockToleranceSec.*'5'/],
    ['clockToleranceSec too large', { ...dev, clockToleranceSec: 301 }, /clockToleranceSec.*301/],
    ['maxTokenAgeSec negative', { ...dev, maxTokenAgeSec: -1 }, /maxTokenAgeSec.*-1/],
    ['maxTokenAgeSec NaN', { ...dev, maxTokenAgeSec: NaN }, /maxTokenAgeSec.*NaN/],
    ['scope with a quote', { ...dev, scope: 'a"b' }, /scope/],
    ['scope a number', { ...dev, scope: 5 }, /scope.*5/],
    ['realm with a quote', { ...dev, realm: 'a"b' }, /realm/],
    ['realm with a line break', { ...dev, realm: 'a\r\nSet-Cookie: x' }, /realm/],
    ['resourceMetadata over http', { ...dev, resourceMetadata: 'http://api.test/x' }, /resourceMetadata.*https URL/],
    ['resourceMetadata no URL', { ...dev, resourceMetadata: '/x' }, /resourceMetadata/],
    ['onDenied no function', { ...dev, onDenied: true }, /onDenied/],
    ['errorFormat of another shape', { ...dev, errorFormat: [] }, /errorFormat takes an object/],
    ['errorFormat no media type', { ...dev, errorFormat: { json: 7 } }, /errorFormat\.json must be a media type.*7/],
    ['clock no clock', { ...dev, clock: { now: () => 0, date: () => 0 } }, /clock must be a clock/],
    ['clock a date', { ...dev, clock: new Date(0) }, /clock must be a clock/],
    ['clock null', { ...dev, clock: null }, /clock must be a clock.*null/],
    ['session no function', { ...dev, session: {} }, /session/],
    [
      'session beside unauthenticated',
      { ...dev, session: () => 0, unauthenticated: { claim: 'a', value: 1 } },
      /contradict/,
    ],
    [
      'unauthenticated of a claim that is no text',
      { ...dev, unauthenticated: { claim: 5, value: true } },
      /unauthenticated/,
    ],
    [
      'unauthenticated of a claim without a name',
      { ...dev, unauthenticated: { claim: '', value: true } },
      /unauthenticated/,
    ],
    ['unauthenticated by null', { ...dev, unauthenticated: { claim: 'a', value: null } }, /unauthenticated/],
    ['unauthenticated incomplete', { ...dev, unauthenticated: { claim: 'a' } }, /unauthenticated/],
    ['warnings no boolean', { ...dev, warnings: 'off' }, /warnings must be true or false.*'off'/],
    ['fetch no function', { ...dev, fetch: 'undici' }, /fetch must be a function.*'undici'/],
    ['allowHttp no boolean', { ...dev, allowHttp: 'yes' }, /allowHttp/],
  ]
  for (const [title, options, message] of wrong) {
    it(title, () => {
      assert.throws(
        () => requireBearer(options as BearerOptions),
        (err: Error) => {
          assert.ok(err instanceof TypeError || err instanceof RangeError)
          assert.match(err.message, message)
          assert.ok(!err.message.includes('not-to-be-shown'))
          return true
        },
      )
    })
  }

  it('naming all there are', () => {
    assert.throws(() => requireBearer({ ...dev, nope: 1 } as BearerOptions), {
      message: /^requireBearer\(\) has no option "nope"; it has issuer, (\w+, ){30,}clock \(/,
    })
  })

  it('where two ways to check tokens contradict each other', () => {
    const introspection = { endpoint: 'https://as.test/introspect', clientId: 'a', clientSecret: 'b' }
    const verify = () => Promise.resolve(undefined)
    for (const [name, value] of Object.entries({ key: jwk, issuers: [dev], cache: false, typ: 'at+jwt' })) {
      const ways = { introspection, verify }
      for (const [way, how] of Object.entries(ways)) {
        const options = { issuer, audience, [way]: how, [name]: value } as unknown as BearerOptions
        assert.throws(() => requireBearer(options), new RegExp(`${way} and ${name} contradict each other`))
      }
    }
    const both = { issuer, audience, introspection, verify } as unknown as BearerOptions
    assert.throws(() => requireBearer(both), /introspection and verify contradict each other/)
  })

  it('and for nothing that is right', () => {
    const right: object[] = [
      ...['http://localhost/keys', 'http://127.0.0.1/keys', 'http://[::1]/keys'].map((jwksUri) => ({
        ...{ issuer, audience, jwksUri },
      })),
      { issuer, audience, jwksUri: 'http://as.test/keys', allowHttp: true },
      { issuer: 'http://as.test', audience, allowHttp: true },
      { issuer, audience, keys: [{ ...jwk, kid: 'a' }, { ...jwk, kid: 'b' }, jwk] },
      { issuer, audience, keys: [{ ...jwk, kid: 'a' }, { ...dev.key, kid: 'a' }, jwk, rsa.publicKey, dev.key] },
      ...['guest', 7, true].map((value) => ({ ...dev, unauthenticated: { claim: 'kind', value } })),
      { ...dev, session: () => ({ kind: 'user' }) },
      { ...dev, revocation: { state: () => undefined } },
      { ...dev, resourceMetadata: 'https://api.test/.well-known/oauth-protected-resource' },
      { ...dev, clockToleranceSec: 300, maxTokenAgeSec: 31_536_000, lastGoodSec: 0, tokenFrom: ['form', 'query'] },
      { ...dev, realm: 'tree', errorFormat: { json: 'application/json' }, cache: { maxTokens: 1 }, optional: true },
    ]
    for (const options of right) assert.equal(requireBearer(options as BearerOptions).name, 'requireBearer')
  })

  it('and takes issuer and audience from the environment', () => {
    process.env.ISSUER_BASE_URL = 'https://as.test'
    process.env.AUDIENCE = 'https://api.test'
    try {
      assert.equal(requireBearer().name, 'requireBearer')
    } finally {
      delete process.env.ISSUER_BASE_URL
      delete process.env.AUDIENCE
    }
  })
})

describe('allowUnauthenticated() throws at startup and names the option', () => {
  const wrong: readonly [string, unknown, RegExp][] = [
    ['paths no list', { paths: '/x' }, /paths.*'\/x'/],
    ['paths empty', { paths: [] }, /paths/],
    ['a path without a slash', { paths: ['x'] }, /paths/],
    ['one of two paths without a slash', { paths: ['/x', 'y'] }, /paths must be a list of paths that begin/],
    ['a path that Express does not take', { paths: ['/a('] }, /paths.*Express does not take/],
    ['methods in small letters', { paths: ['/x'], methods: ['get'] }, /methods.*'get'/],
    ['one of two methods in small letters', { paths: ['/x'], methods: ['GET', 'put'] }, /methods.*'put'/],
    ['methods empty', { paths: ['/x'], methods: [] }, /methods/],
    ['methods null', { paths: ['/x'], methods: null }, /methods.*null/],
    ['methods without paths', { methods: ['GET'] }, /methods is for paths/],
    ['an option unknown', { path: '/x' }, /allowUnauthenticated\(\) has no option "path"/],
  ]
  for (const [title, options, message] of wrong) {
    it(title, () => {
      assert.throws(() => allowUnauthenticated(options as object), message)
    })
  }
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
      assert.ok(options.length > 0)
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

describe('requireScope() throws at startup', () => {
  it('without scopes, or with what is none', () => {
    assert.throws(() => requireScope(), TypeError)
    assert.throws(() => requireScope('read\nwrite'), /requireScope\(\).*'read\\nwrite'/)
    assert.throws(() => requireScope(''), /requireScope\(\)/)
    assert.throws(() => requireScope(7 as never), /7/)
    assert.throws(() => requireScope(['read', 'write'] as never), /one by one: requireScope\('read', 'write'\)/)
    assert.throws(() => requireScope('read', { any: ['write'] }), /requireScope\(\) takes one scope or more/)
    assert.throws(() => requireScope({}), /requireScope\(\) takes one scope or more/)
    assert.throws(() => requireScope({ all: ['read'] } as never), /requireScope\(\) has no option "all"/)
  })
})

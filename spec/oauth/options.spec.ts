import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  type AuthorizationServerOptions,
  type OAuthStore,
  authorizationServer,
  clientDirectory,
  hashPassword,
  memoryOAuthStore,
  redisOAuthStore,
  userDirectory,
} from '../../lib/oauth'
import * as tollgate from '../../lib'
import { CLIENTS, SIGNING_KEY, USERS } from './support'
import { says } from '../support/addressed'

const WORKING: AuthorizationServerOptions = {
  issuer: 'https://ident.example.org/cis-web/oauth2/v3',
  clients: clientDirectory(CLIENTS),
  users: USERS,
  signingKeys: [{ key: SIGNING_KEY }],
}

/** Wrong options, and the error for each, which names the option. */
const WRONG: [options: object, error: RegExp][] = [
  [{ isuer: '' }, /authorizationServer\(\) has no option "isuer"; did you mean "issuer"\?/],
  [{ issuer: undefined }, /issuer must be an https URL .* received undefined/],
  [{ issuer: 'ident.example.org' }, /issuer must be an https URL .* received 'ident.example.org'/],
  [{ issuer: 'http://ident.example.org' }, /issuer must be an https URL/],
  [{ issuer: 'https://ident.example.org/' }, /issuer must be .* trailing slash/],
  [{ issuer: 'https://ident.example.org/a?b=c' }, /issuer must be .* without query/],
  [{ issuer: 'https://ident.example.org/a#b' }, /issuer must be .* fragment/],
  [{ issuer: 'http://127.0.0.1.example.org' }, /issuer must be an https URL/],
  [
    { clients: undefined },
    /clients must have the methods findClient, as in clients: clientDirectory\(\[…\]\); received undefined/,
  ],
  [{ clients: [] }, /clients must be a directory; received a list: write clients: clientDirectory\(\[…\]\)/],
  [{ users: [{ id: '1' }] }, /users must be a directory; received a list: write users: userDirectory\(\[…\]\)/],
  [
    { users: () => undefined },
    /users must be an object; received a function: write users: \{ authenticate, findUser \}/,
  ],
  [{ scopes: ['openid', 'api'] }, /scopes must be an object of claims by scope; .*clientDirectory\(\[\{ scopes: \[/],
  [{ scopes: { profile: 'name' } }, /scopes.profile must be a list of claims, or false; received 'name'/],
  [{ login: {} }, /login.url must be a path that begins with \/, or a URL on the issuer's host; received undefined/],
  [{ login: { url: 'https://other.test/' } }, /login.url must be a path .* received 'https:\/\/other.test\/'/],
  [{ dpop: { maxAgeSec: 60 } }, /dpop has no option "maxAgeSec"; did you mean "maxProofAgeSec"\?/],
  [{ adapter: class {} }, /no option "adapter": write store: redisOAuthStore\(url\)/],
  [{ jwks: { keys: [] } }, /no option "jwks": write signingKeys: jwks.keys.map/],
  [{ findAccount: () => ({}) }, /no option "findAccount": write users: \{ authenticate, findUser \}/],
  [{ ttl: { AccessToken: 60 } }, /no option "ttl": write accessTokens: \{ lifetimeSec \}/],
  [{ interactions: { url: () => '/' } }, /no option "interactions": write login: \{ url: '\/sign-in' \}/],
  [{ cookies: { keys: ['hunter2'] } }, /no option "cookies": leave it out/],
  [{ model: {} }, /no option "model": write clients: \{ findClient \}/],
  [{ clientId: 'web' }, /no option "clientId": write it into an app: clients: clientDirectory/],
  [{ users: { findUser: () => undefined } }, /users must have the methods authenticate, findUser/],
  [{ store: { set() {}, get() {}, claim() {} } }, /store must have the methods set, get, claim, count/],
  [{ store: memoryOAuthStore(), signingKeys: undefined }, /signingKeys are required with a store/],
  [{ signingKeys: [] }, /signingKeys must be an array of at least one key; received \[\]/],
  [{ signingKeys: SIGNING_KEY }, /signingKeys must be an array/],
  [{ signingKeys: [{ kee: SIGNING_KEY }] }, /a key in signingKeys has no option "kee"; did you mean "key"\?/],
  [{ signingKeys: [{ key: SIGNING_KEY, kid: 'a b' }] }, /kid must be 1 to 128 printable ASCII .* received 'a b'/],
  [{ signingKeys: [{ key: SIGNING_KEY, activeFrom: 'soon' }] }, /activeFrom must be a date; received 'soon'/],
  [{ tokenType: '' }, /tokenType must be 1 to 64 letters.* received ''/],
  [{ tokenType: 'a b' }, /tokenType must be/],
  [{ onError: 'console' }, /onError must be a function; received 'console'/],
  [{ clock: { now: () => 0 } }, /clock must be a clock, as manualClock\(\) makes one/],
  [{ clock: null }, /clock must be a clock.* received null/],
  [{ codeLifetimeSec: 9 }, /codeLifetimeSec must be a whole number from 10 to 600; received 9/],
  [{ codeLifetimeSec: 601 }, /codeLifetimeSec .* received 601/],
  [{ accessTokens: { lifetime: 5 } }, /accessTokens has no option "lifetime"; did you mean "lifetimeSec"\?/],
  [{ accessTokens: { format: 'paseto' } }, /accessTokens.format must be .*'jwt'.*'opaque'.*received 'paseto'/],
  [{ accessTokens: { lifetimeSec: 59 } }, /accessTokens.lifetimeSec must be a whole number from 60 to 86,400/],
  [{ accessTokens: { lifetimeSec: 86_401 } }, /accessTokens.lifetimeSec .* received 86401/],
  [{ accessTokens: { idleSec: 0 } }, /accessTokens.idleSec must be .* received 0/],
  [{ accessTokens: { audience: 5 } }, /accessTokens.audience must be a list of at least one audience; received 5/],
  [{ refreshTokens: { graceSec: 61 } }, /refreshTokens.graceSec must be a whole number from 0 to 60; received 61/],
  [{ refreshTokens: { lifetimeSec: 1 } }, /refreshTokens.lifetimeSec must be .* received 1/],
  [{ refreshTokens: { rotate: false } }, /refreshTokens has no option "rotate"/],
  [{ websiteSession: { idleSec: '1' } }, /websiteSession.idleSec must be .* received '1'/],
  [{ websiteSession: { lifetimeSec: 59 } }, /websiteSession.lifetimeSec must be .* received 59/],
  [{ websiteSession: { cookie: 'sid' } }, /websiteSession has no option "cookie"/],
  [{ loginLimits: { perAccount: 0 } }, /loginLimits.perAccount must be .* received 0/],
  [{ loginLimits: { perAddress: Infinity } }, /loginLimits.perAddress must be .* received Infinity/],
  [{ loginLimits: { windowSec: -1 } }, /loginLimits.windowSec must be .* received -1/],
  [{ loginLimits: { perUser: 5 } }, /loginLimits has no option "perUser"/],
  [{ pages: { color: 'red' } }, /pages has no option "color"; it has brand, logo, css, texts, terms/],
  [{ pages: { brand: 5 } }, /pages.brand must be a string; received 5/],
  [{ pages: { css: 5 } }, /pages.css must be a string; received 5/],
  [{ pages: { css: 'a{}</StYle ><script>' } }, /pages.css must not end the style element/],
  [{ pages: { logo: 'javascript:alert(1)' } }, /pages.logo must be an https URL or data:image/],
  [{ pages: { logo: 'http://example.org/a.png' } }, /pages.logo must be an https URL/],
  [{ pages: { logo: "https://example.org/a.png'; img-src *" } }, /pages.logo must be/],
  [{ pages: { logo: 5 } }, /pages.logo must be an https URL or data:image\/…; received 5/],
  [{ pages: { texts: 'de' } }, /pages.texts must be an object or a function; received 'de'/],
  [{ pages: { terms: true } }, /pages.terms must be false or have a version and paragraphs/],
  [{ pages: { terms: null } }, /pages.terms must be false or have/],
  [{ pages: { terms: { version: 1, paragraphs: [] } } }, /pages.terms must be false or have/],
  [{ pages: { terms: { version: '1', paragraphs: 'be kind' } } }, /pages.terms must be false or have/],
  [{ pages: { terms: { version: '1', paragraphs: [5] } } }, /pages.terms must be false or have/],
]

const APP = { clientId: 'web', name: 'Web', redirectUris: ['https://web.test/cb'] }
const WRONG_APPS: [app: unknown, error: RegExp][] = [
  [null, /an app in clientDirectory takes an object of options; received null/],
  [{ ...APP, client_id: 'web' }, /an app in clientDirectory has no option "client_id": write clientId/],
  [{ ...APP, clientId: '' }, /clientId .* received ''/],
  [{ ...APP, clientId: 'a b' }, /clientId .* received 'a b'/],
  [{ ...APP, name: ' ' }, /name of web must be a string that is not empty/],
  [{ ...APP, redirectUris: 'https://web.test/cb' }, /redirectUris of web must be an array; received 'https/],
  [{ ...APP, redirectUris: ['/cb'] }, /redirectUris of web .* received '\/cb'/],
  [{ ...APP, redirectUris: ['https://web.test/cb#x'] }, /redirectUris of web .* received/],
  [{ ...APP, postLogoutRedirectUris: ['bye'] }, /postLogoutRedirectUris of web .* received 'bye'/],
  [{ ...APP, grants: ['password'] }, /grants of web holds 'password'; must be one of authorization_code/],
  [{ ...APP, grants: 'refresh_token' }, /grants of web must be an array/],
  [{ ...APP, scopes: ['tree read'] }, /scopes of web holds 'tree read': RFC 6749 §3.3/],
  [{ ...APP, realm: 5 }, /realm of web must be a string; received 5/],
  [{ ...APP, requirePkce: 'no' }, /requirePkce of web must be a boolean; received 'no'/],
  [{ ...APP, plainPkce: 1 }, /plainPkce of web must be a boolean; received 1/],
  [{ ...APP, secret: '' }, /secret of web must be a string that is not empty$/],
  [
    { ...APP, grants: ['client_credentials'] },
    /grants of web holds client_credentials, which needs a secret or public/,
  ],
  [{ ...APP, publicKeys: Array(3).fill(SIGNING_KEY) }, /publicKeys of web must be at most two/],
  [{ ...APP, publicKeys: ['hunter2'] }, /publicKeys of web .* could not be read$/],
]

/** Password hashes of several kinds, the first as hashPassword() makes them. */
const HASHES = [
  `$scrypt$ln=17,r=8,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}`,
  `$argon2id$v=19$m=19456,t=2,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}`,
  `$2b$12$${'a'.repeat(53)}`,
  `$6$${'a'.repeat(16)}$${'b'.repeat(86)}`,
  '$pbkdf2-sha256$29000$aaaa$bbbb',
]

const USER = { id: 'KWC6-X7D', username: 'ada', password: 'analytical engine' }
const WRONG_USERS: [user: unknown, error: RegExp][] = [
  [null, /a user in userDirectory takes an object of options: .*; received null/],
  [{ ...USER, name: 'ada' }, /a user in userDirectory has no option "name": write claims: \{ name, email \}/],
  [{ ...USER, id: 'a b' }, /id must be 1 to 255 printable ASCII characters without a space; received 'a b'/],
  [{ ...USER, username: '' }, /username of KWC6-X7D must be 1 to 256 characters/],
  [{ ...USER, password: undefined }, /ada must have either a password or a passwordHash/],
  [{ ...USER, passwordHash: 'x' }, /ada must have either a password or a passwordHash/],
  [{ ...USER, password: '' }, /password of ada must be 1 to 1,024 bytes/],
  [{ ...USER, password: 'ö'.repeat(600) }, /password of ada must be 1 to 1,024 bytes/],
  [
    { ...USER, password: undefined, passwordHash: '5f4dcc' },
    /passwordHash of ada must be one that hashPassword\(\) made/,
  ],
  [{ ...USER, claims: 'ada' }, /claims of ada must be an object; received 'ada'/],
]

describe('authorizationServer() throws at startup', () => {
  for (const [options, error] of WRONG) {
    it(error.source, () => {
      assert.throws(
        () => authorizationServer({ ...WORKING, ...options }),
        (err: Error) => (err instanceof TypeError || err instanceof RangeError) && says(error)(err),
      )
    })
  }

  it('and accepts the limits of each range', () => {
    authorizationServer({
      ...WORKING,
      tokenType: 'Bearer',
      codeLifetimeSec: 600,
      accessTokens: { format: 'opaque', lifetimeSec: 86_400, idleSec: 60 },
      refreshTokens: { lifetimeSec: 34_560_000, graceSec: 0 },
      websiteSession: { lifetimeSec: 2_592_000, idleSec: 60 },
      loginLimits: { perAccount: 1, perAddress: 1_000_000, windowSec: 86_400 },
      pages: { logo: 'data:image/png;base64,AAAA', terms: false, texts: () => ({}) },
    })
    authorizationServer({ ...WORKING, issuer: 'http://[::1]:3000', codeLifetimeSec: 10 })
  })
})

describe('clientDirectory() throws at startup', () => {
  for (const [app, error] of WRONG_APPS) {
    it(error.source, () => assert.throws(() => clientDirectory([app as never]), says(error)))
  }

  it('for an app given twice, and for anything but a list', () => {
    assert.throws(() => clientDirectory([APP, APP]), /clientDirectory: web is registered twice/)
    assert.throws(() => clientDirectory(APP as never), /clientDirectory takes an array of apps; received/)
  })

  it('for a hash as secret, which it does not show', () => {
    for (const secret of HASHES) {
      assert.throws(
        () => clientDirectory([{ ...APP, secret }]),
        (err: Error) =>
          says(/secret of web is a hash, and secret takes the plain text/)(err) && !err.message.includes(secret),
      )
    }
  })

  it('and shows no secret', () => {
    const app = { ...APP, secret: 's3cret', realm: 5 } as never
    assert.throws(
      () => clientDirectory([app]),
      (err) => err instanceof TypeError && !err.message.includes('s3cret'),
    )
  })
})

describe('userDirectory() throws at startup', () => {
  for (const [user, error] of WRONG_USERS) {
    it(error.source, () => assert.throws(() => userDirectory([user as never], { cost: 10 }), says(error)))
  }

  it('for a user given twice, and for anything but a list', () => {
    const twice = [USER, { ...USER, id: 'K2QX-9TT', username: 'ADA' }]
    assert.throws(() => userDirectory(twice, { cost: 10 }), /userDirectory: ADA is registered twice/)
    assert.throws(() => userDirectory(USER as never), /userDirectory takes an array of users; received/)
    assert.throws(() => userDirectory([USER], { cost: 9 }), /cost must be a whole number from 10 to 20; received 9/)
    assert.throws(
      () => userDirectory([], { const: 12 } as never),
      /userDirectory has no option "const"; did you mean "cost"\?/,
    )
  })

  it('for a hash as password, which it does not show, and for no plain password with a dollar', () => {
    for (const password of HASHES) {
      assert.throws(
        () => userDirectory([{ ...USER, password }], { cost: 10 }),
        (err: Error) => says(/password of ada is a hash, .* use passwordHash/)(err) && !err.message.includes(password),
      )
    }
    for (const password of ['$crypt', '$cash$money', 'scrypt$', '$2b']) {
      assert.doesNotThrow(() => userDirectory([{ ...USER, password }], { cost: 10 }))
    }
  })

  it('and shows no password', () => {
    assert.throws(
      () => userDirectory([{ ...USER, password: 'correct horse', claims: 5 } as never], { cost: 10 }),
      (err) => err instanceof TypeError && !err.message.includes('horse'),
    )
  })
})

describe('option store names what it received, and writes the right line', () => {
  const throttleStore = tollgate.redisStore('redis://127.0.0.1:1')
  const rightLine = 'write store: redisOAuthStore(url)'
  class Adapter {
    upsert() {}
    consume() {}
  }
  const method = () => undefined
  const mistakes: [what: string, store: unknown, ...texts: string[]][] = [
    ['a URL', 'redis://:hunter2@db:6379', 'a redis:// URL', "write store: redisOAuthStore('redis://…')"],
    ['the name of a store', 'redis', 'a text', "write store: redisOAuthStore('redis://…')"],
    [
      "the throttle's store",
      throttleStore,
      'a store of throttle(); authorizationServer() needs one of its own',
      rightLine,
    ],
    ['an ioredis client', { status: 'ready', duplicate: method }, 'a Redis client', 'redisOAuthStore(client)'],
    ['a node-redis client', { HGETALL: method }, 'a node-redis client', 'write store: redisOAuthStore(client)'],
    ['a factory', redisOAuthStore, 'the factory itself', rightLine],
    ['a promise', Promise.resolve(memoryOAuthStore()), 'a promise: await it first'],
    ['rate-limit-redis', { increment: method, resetKey: method }, 'an express-rate-limit store', rightLine],
    ['rate-limiter-flexible', { consume: method, penalty: method }, 'a limiter of rate-limiter-flexible', rightLine],
    ["oidc-provider's adapter", Adapter, 'an adapter of oidc-provider', rightLine],
    ['connect-redis', { get: method, set: method, destroy: method }, 'an express-session store', rightLine],
    ['Keyv', { get: method, set: method, delete: method }, 'a cache such as Keyv', rightLine],
  ]
  after(() => throttleStore.close())
  for (const [what, store, ...texts] of mistakes) {
    it(`for ${what}`, () => {
      const make = () => authorizationServer({ ...WORKING, store: store as OAuthStore })
      assert.throws(make, ({ message, code }: Error & { code?: string }) => {
        assert.equal(code, 'TOLLGATE_OPTION')
        assert.deepEqual(
          ['store must be a store of authorizationServer()', ...texts].filter((text) => !message.includes(text)),
          [],
          message,
        )
        return !message.includes('hunter2')
      })
    })
  }
})

describe('memoryOAuthStore() throws at startup', () => {
  it('for unknown options and invalid values', () => {
    assert.throws(
      () => memoryOAuthStore({ max: 5 } as never),
      /memoryOAuthStore has no option "max"; it has maxBytes, clock/,
    )
    assert.throws(
      () => memoryOAuthStore({ maxBytes: 0 }),
      /maxBytes must be a whole number from 10,000 to 16,000,000,000; .* 0/,
    )
    assert.throws(() => memoryOAuthStore({ clock: 5 as never }), /clock must be a clock/)
  })
})

describe('hashPassword() rejects', () => {
  it('a password or a cost out of range', async () => {
    await assert.rejects(async () => hashPassword(''), /password must be 1 to 1,024 bytes long/i)
    await assert.rejects(async () => hashPassword('x'.repeat(1_025)), RangeError)
    await assert.rejects(async () => hashPassword('x', 21), /cost must be .*from 10 to 20/i)
  })
})

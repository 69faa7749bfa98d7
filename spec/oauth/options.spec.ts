import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizationServer, clientDirectory, userDirectory } from '../../lib/oauth'
import { says } from '../support/help-link'
import { CLIENTS, SIGNING_KEY, USERS } from './support'

// Wrong options, and the error for each, are in corpora/wrong-calls.json.

const WORKING = {
  issuer: 'https://ident.example.org/cis-web/oauth2/v3',
  clients: clientDirectory(CLIENTS),
  users: USERS,
  signingKeys: [{ key: SIGNING_KEY }],
}

/** Password hashes of several kinds, the first as hashPassword() makes them. */
const HASHES = [
  `$scrypt$ln=17,r=8,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}`,
  `$argon2id$v=19$m=19456,t=2,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}`,
  `$2b$12$${'a'.repeat(53)}`,
  `$6$${'a'.repeat(16)}$${'b'.repeat(86)}`,
  '$pbkdf2-sha256$29000$aaaa$bbbb',
]

describe('authorizationServer()', () => {
  it('accepts the limits of each range', () => {
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

describe('a hash in place of a password', () => {
  const hidden = (text: string, error: RegExp) => (err: Error) => says(error)(err) && !err.message.includes(text)

  it('is no secret of clientDirectory(), which does not show it', () => {
    const app = { clientId: 'web', name: 'Web', redirectUris: ['https://web.test/cb'] }
    const error = /secret of web is a hash, and secret takes the plain text/
    for (const secret of HASHES) assert.throws(() => clientDirectory([{ ...app, secret }]), hidden(secret, error))
  })

  it('is no password of userDirectory(), which does not show it; a plain one with a dollar is', () => {
    const make = (password: string) => userDirectory([{ id: '1', username: 'ada', password }], { cost: 10 })
    const error = /password of ada is a hash, .* use passwordHash/
    for (const password of HASHES) assert.throws(() => make(password), hidden(password, error))
    for (const password of ['$crypt', '$cash$money', 'scrypt$', '$2b']) assert.doesNotThrow(() => make(password))
  })
})

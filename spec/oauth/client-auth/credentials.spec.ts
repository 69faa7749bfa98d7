import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { type JWK, SignJWT } from 'jose'
import { type ClientRegistration, authorizationServer, clientDirectory } from '../../../lib/oauth'
import { manualClock } from '../../../lib/testing'
import { generateKeys } from '../../support/generate-keys'
import { CLIENT_KEYS, type Form, SIGNING_KEY, USERS, json, post, startServer } from '../support'

const BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const job = (more: Partial<ClientRegistration>): ClientRegistration => ({
  ...{ clientId: 'job', name: 'Job', grants: ['client_credentials'] as const, scopes: ['a'] },
  ...more,
})

async function started(t: { after(fn: () => unknown): void }, app: ClientRegistration) {
  const clock = manualClock()
  const running = await startServer({ clock, clients: clientDirectory([app]) })
  t.after(() => running.close())
  const ask = async (form: Form, headers: Form = {}) =>
    post(`${running.issuer}/token`, { grant_type: 'client_credentials', scope: 'a', ...form }, headers)
  const nowSec = () => Math.floor(clock.date() / 1_000)
  let jti = 0
  const assert = async (key: Parameters<SignJWT['sign']>[0], alg: string, claims: object = {}) => {
    const all = { iss: 'job', sub: 'job', aud: running.issuer, exp: nowSec() + 60, jti: `j${jti++}`, ...claims }
    const jwt = await new SignJWT(all).setProtectedHeader({ alg }).sign(key)
    return (await ask({ client_assertion: jwt, client_assertion_type: BEARER })).status
  }
  return { ...running, ask, assert, nowSec }
}

describe("a client's own key", () => {
  it('may be EC P-256 or Ed25519, as PEM, JWK or KeyObject, and signs with its own algorithm alone', async (t) => {
    for (const [kind, alg] of [
      ['ec', 'ES256'],
      ['ed25519', 'EdDSA'],
    ] as const) {
      const { publicKey, privateKey } = generateKeys(kind)
      const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
      for (const key of [publicKey, pem, publicKey.export({ format: 'jwk' }) as JWK, pem.replaceAll('\n', '\\n')]) {
        const { assert: tried } = await started(t, job({ publicKeys: [key, CLIENT_KEYS.publicKey] }))
        assert.equal(await tried(privateKey, alg), 200)
        assert.equal(await tried(CLIENT_KEYS.privateKey, 'PS256'), 200, 'the other of two')
        assert.equal(await tried(generateKeys(kind).privateKey, alg), 401)
      }
    }
    const { publicKey, privateKey } = generateKeys('ec')
    const { issuer, ask, nowSec } = await started(t, job({ publicKeys: [publicKey] }))
    const claims = { iss: 'job', sub: 'job', aud: issuer, exp: nowSec() + 60, jti: 'x' }
    const good = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
    const [, payload, signature] = good.split('.')
    for (const header of [{ alg: 'none' }, { alg: 'HS256' }, { alg: 'RS256' }, { alg: 'ES256', crit: ['x'] }, {}]) {
      const jwt = [Buffer.from(JSON.stringify(header)).toString('base64url'), payload, signature].join('.')
      assert.equal(
        (await ask({ client_assertion: jwt, client_assertion_type: BEARER })).status,
        401,
        JSON.stringify(header),
      )
    }
    const metadata = await json(await fetch(`${issuer}/.well-known/openid-configuration`))
    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'])
      assert.ok((metadata.token_endpoint_auth_signing_alg_values_supported as string[]).includes(alg), alg)
  })

  it('that is of another kind, or too weak, is refused at start without a word of it', () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey
    for (const key of [
      generateKeys('ec', 'P-384').publicKey,
      generateKeys('x25519').publicKey,
      weak,
      'PEM',
      { kty: 'oct', k: 'AAAA' },
    ]) {
      assert.throws(
        () => clientDirectory([job({ publicKeys: [key] })]),
        (err: Error) => /publicKeys of job/.test(err.message) && !/AAAA|PEM'/.test(err.message),
      )
    }
  })

  it('RFC 7523 §3: an assertion may end as far beyond ten minutes as it may have ended before now', async (t) => {
    const { assert: tried, nowSec } = await started(t, job({ publicKeys: [CLIENT_KEYS.publicKey] }))
    const sign = (claims: object) => tried(CLIENT_KEYS.privateKey, 'RS256', claims)
    for (const [away, status] of [
      [-31, 401],
      [-29, 200],
      [599, 200],
      [629, 200],
      [631, 401],
    ] as const)
      assert.equal(await sign({ exp: nowSec() + away }), status, String(away))
    for (const [away, status] of [
      [29, 200],
      [31, 401],
    ] as const)
      assert.equal(await sign({ nbf: nowSec() + away }), status, `nbf ${away}`)
  })
})

describe('a secret', () => {
  it('may be two at once, so that one replaces the other', async (t) => {
    const { ask } = await started(t, job({ secret: ['old-secret', 'new-secret'] }))
    const basic = (secret: string) => ({ authorization: `Basic ${btoa(`job:${secret}`)}` })
    for (const secret of ['old-secret', 'new-secret']) {
      assert.equal((await ask({ client_id: 'job', client_secret: secret })).status, 200)
      assert.equal((await ask({}, basic(secret))).status, 200)
    }
    for (const secret of ['other', 'old-secretnew-secret', '']) assert.equal((await ask({}, basic(secret))).status, 401)
    for (const secret of [['a', 'b', 'c'], ['a', ''], [7], [[]], ['$scrypt$ln=17,r=8,p=1$x$y']]) {
      assert.throws(() => clientDirectory([job({ secret: secret as never })]), /secret of job/)
    }
    assert.throws(() => clientDirectory([job({ secret: [] })]), /needs a secret or publicKeys/)
  })

  it('RFC 6749 §5.2: a challenge comes only where the request had an Authorization field', async (t) => {
    const { ask } = await started(t, job({ secret: 'secret' }))
    const fieldOf = async (form: Form, headers: Form = {}) => {
      const response = await ask(form, headers)
      assert.equal(response.status, 401)
      return response.headers.get('www-authenticate')
    }
    for (const form of [
      {},
      { client_id: 'job' },
      { client_id: 'nobody' },
      { client_id: 'job', client_secret: 'x' },
    ] as Form[])
      assert.equal(await fieldOf(form), null, 'a browser would ask its user for a password')
    for (const authorization of ['Basic x', `Basic ${btoa('job:x')}`, 'Bearer x', `Basic ${btoa('nobody:x')}`])
      assert.match((await fieldOf({}, { authorization })) ?? '', /^Basic realm="/)
  })
})

describe('a PEM of a .env file', () => {
  it('has \\n or spaces for its line breaks, may have quotes around it, and may be in base64', () => {
    const pem = (type: 'pkcs8' | 'pkcs1') =>
      createPrivateKey(SIGNING_KEY.export({ type: 'pkcs8', format: 'pem' })).export({ type, format: 'pem' }) as string
    const make = (key: string) =>
      authorizationServer({
        issuer: 'https://a.test',
        clients: clientDirectory([]),
        users: USERS,
        signingKeys: [{ key }],
      })
    for (const text of [pem('pkcs8'), pem('pkcs1')]) {
      const escaped = text.replaceAll('\n', '\\n')
      for (const key of [text, escaped, `"${escaped}"`, `'${text}'`, text.replaceAll('\n', '\\r\\n'), `\n ${text}\n`])
        make(key)
      const indented = text.replaceAll('\n', '\n    ')
      for (const key of [indented, text.replaceAll('\n', ' '), Buffer.from(text).toString('base64')]) make(key)
    }
    for (const key of ['', '\\n', 'secret', pem('pkcs8').slice(0, 200)]) {
      assert.throws(
        () => make(key),
        (err: Error) => /could not be read/.test(err.message) && !err.message.includes('secret'),
      )
    }
  })
})

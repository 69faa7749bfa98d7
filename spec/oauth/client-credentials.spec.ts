import assert from 'node:assert/strict'
import { type KeyObject, constants, privateEncrypt, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { SignJWT, decodeJwt } from 'jose'
import { clientDirectory } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { generateKeys } from '../support/generate-keys'
import { AS_WEB, CLIENT_KEYS, CLIENTS, type Form, json, post, serverOfSuite } from './support'

const SECOND = generateKeys('rsa')
const STRANGER = generateKeys('rsa')

describe('the client credentials grant', () => {
  const clock = manualClock()
  const clients = CLIENTS.map((client) =>
    client.clientId === 'service' ? { ...client, publicKeys: [CLIENT_KEYS.publicKey, SECOND.publicKey] } : client,
  )
  const running = serverOfSuite({ clock, clients: clientDirectory(clients) })

  const ask = (more: Form, headers: Form = {}) =>
    post(`${running.issuer}/token`, { grant_type: 'client_credentials', ...more }, headers)
  const asService = (secret: string) => ask({ client_id: 'service', client_secret: secret })
  const encrypted = (time: number | string, key: KeyObject = CLIENT_KEYS.privateKey) =>
    privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(String(time))).toString('base64')
  const error = async (response: Response) => [response.status, (await json(response)).error]

  it("RFC 6749 §4.4.3: gives a token in the app's own name, no refresh token and no id_token", async () => {
    const response = await ask({ scope: 'tree.read openid unheard-of' }, AS_WEB)
    assert.equal(response.status, 200)
    const tokens = await json(response)
    assert.deepEqual(Object.keys(tokens).sort(), ['access_token', 'expires_in', 'scope', 'token_type'])
    assert.equal(tokens.token_type, 'family_search')
    assert.equal(tokens.scope, 'tree.read')
    const claims = decodeJwt(tokens.access_token as string)
    assert.equal(claims.sub, 'web')
    assert.equal(claims.client_id, 'web')
  })

  it('RFC 6749 §5.2: is for apps registered for it only', async () => {
    assert.deepEqual(await error(await ask({ client_id: 'spa' })), [400, 'unauthorized_client'])
  })

  it('takes the time, encrypted with the private key, by either of two keys', async () => {
    clock.advance(1)
    assert.equal((await asService(encrypted(clock.date()))).status, 200)
    clock.advance(1)
    assert.equal((await asService(encrypted(clock.date(), SECOND.privateKey))).status, 200)
  })

  it('takes the time, signed', async () => {
    clock.advance(1)
    for (const [algorithm, away] of [
      ['sha256', 0],
      ['sha256', -299_000],
      ['sha256', 299_000],
      ['sha1', 1_234],
    ] as const) {
      const signature = sign(algorithm, Buffer.from(String(clock.date() + away)), CLIENT_KEYS.privateKey)
      assert.equal((await asService(signature.toString('base64'))).status, 200, `${algorithm} ${away}`)
    }
  })

  it('refuses a time more than five minutes away, in either direction', async () => {
    const limit = 5 * 60_000
    assert.equal((await asService(encrypted(clock.date() - limit))).status, 200)
    assert.equal((await asService(encrypted(clock.date() + limit))).status, 200)
    for (const away of [-limit - 1, limit + 1]) {
      assert.deepEqual(await error(await asService(encrypted(clock.date() + away))), [401, 'invalid_client'])
      const signature = sign('sha256', Buffer.from(String(clock.date() + away)), CLIENT_KEYS.privateKey)
      assert.deepEqual(await error(await asService(signature.toString('base64'))), [401, 'invalid_client'])
    }
  })

  it('refuses the same secret twice, also at once, and signed after encrypted', async () => {
    clock.advance(10)
    const secret = encrypted(clock.date())
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await asService(secret)).status))
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    const signed = sign('sha256', Buffer.from(String(clock.date())), CLIENT_KEYS.privateKey).toString('base64')
    assert.deepEqual(await error(await asService(signed)), [401, 'invalid_client'])
  })

  it('refuses another key, another text, another encoding and rubbish', async () => {
    clock.advance(10)
    const now = clock.date()
    const rubbish = [
      encrypted(now, STRANGER.privateKey),
      encrypted(`${now} `),
      encrypted(`0x${now.toString(16)}`),
      encrypted(now).replace(/=*$/, ''),
      encrypted(now).replaceAll('+', '-').replaceAll('/', '_').replace(/=*$/, '_'),
      String(now),
      'A'.repeat(344),
      'secret',
    ]
    for (const secret of rubbish) assert.deepEqual(await error(await asService(secret)), [401, 'invalid_client'])
    assert.deepEqual(await error(await ask({ client_id: 'service' })), [401, 'invalid_client'])
    assert.deepEqual(await error(await ask({ client_id: 'service', client_secret: '' })), [401, 'invalid_client'])
  })

  describe('private_key_jwt', () => {
    let jti = 0
    const assertion = (
      claims: Record<string, unknown> = {},
      key: KeyObject = CLIENT_KEYS.privateKey,
      alg = 'RS256',
    ) => {
      const nowSec = Math.floor(clock.date() / 1_000)
      const all = { iss: 'service', sub: 'service', aud: running.issuer, exp: nowSec + 60, jti: `j${jti++}`, ...claims }
      return new SignJWT(all).setProtectedHeader({ alg }).sign(key)
    }
    const asJwt = (jwt: string, more: Form = {}) =>
      ask({
        client_assertion: jwt,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        ...more,
      })

    it('RFC 7523 §3: is taken for the issuer or the token endpoint, with RS256 or PS256, by either key', async () => {
      assert.equal((await asJwt(await assertion())).status, 200)
      assert.equal(
        (await asJwt(await assertion({ aud: `${running.issuer}/token` }), { client_id: 'service' })).status,
        200,
      )
      assert.equal((await asJwt(await assertion({ aud: [running.issuer] }, SECOND.privateKey, 'PS256'))).status, 200)
    })

    it('RFC 7523 §3: is refused where a claim is wrong or missing', async () => {
      const wrong = [
        { iss: 'web' },
        { sub: 'web' },
        { aud: 'https://elsewhere.test' },
        { aud: [running.issuer, 'https://elsewhere.test'] },
        { aud: undefined },
        { exp: undefined },
        { jti: undefined },
        { jti: 7 },
      ]
      for (const claims of wrong) {
        assert.deepEqual(
          await error(await asJwt(await assertion(claims))),
          [401, 'invalid_client'],
          JSON.stringify(claims),
        )
      }
    })

    it('RFC 7523 §3: is good once', async () => {
      const jwt = await assertion()
      assert.equal((await asJwt(jwt)).status, 200)
      assert.deepEqual(await error(await asJwt(jwt)), [401, 'invalid_client'])
    })

    it('RFC 7515 §4.1.11: is refused with a crit header that is not understood', async () => {
      const nowSec = Math.floor(clock.date() / 1_000)
      const claims = { iss: 'service', sub: 'service', aud: running.issuer, exp: nowSec + 60 }
      const jwt = (jti: string, header: object) => {
        const parts = [
          { alg: 'RS256', ...header },
          { ...claims, jti },
        ]
        const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
        return `${text}.${sign('sha256', Buffer.from(text), CLIENT_KEYS.privateKey).toString('base64url')}`
      }
      assert.equal((await asJwt(jwt('without', {}))).status, 200)
      for (const [i, header] of [{ crit: ['b64'], b64: true }, { crit: ['x'], x: 1 }, { crit: [] }].entries())
        assert.deepEqual(await error(await asJwt(jwt(`crit${i}`, header))), [401, 'invalid_client'])
    })

    it('is refused from a stranger, unsigned, with the public key as a secret, or beside another method', async () => {
      assert.deepEqual(await error(await asJwt(await assertion({}, STRANGER.privateKey))), [401, 'invalid_client'])
      const [head, body] = (await assertion()).split('.')
      assert.deepEqual(await error(await asJwt(`${head}.${body}.`)), [401, 'invalid_client'])
      const none = Buffer.from('{"alg":"none"}').toString('base64url')
      assert.deepEqual(await error(await asJwt(`${none}.${body}.`)), [401, 'invalid_client'])
      const pem = CLIENT_KEYS.publicKey.export({ type: 'spki', format: 'pem' })
      const nowSec = Math.floor(clock.date() / 1_000)
      const claims = { iss: 'service', sub: 'service', aud: running.issuer, exp: nowSec + 60, jti: 'hs' }
      const hmac = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(pem))
      assert.deepEqual(await error(await asJwt(hmac)), [401, 'invalid_client'])
      assert.deepEqual(await error(await asJwt(await assertion(), { client_secret: 'x' })), [400, 'invalid_request'])
      assert.deepEqual(await error(await asJwt(await assertion(), { client_id: 'web' })), [401, 'invalid_client'])
      assert.deepEqual(await error(await asJwt(await assertion(), { client_assertion_type: 'jwt' })), [
        400,
        'invalid_request',
      ])
    })
  })
})

describe('the unauthenticated session grant', () => {
  const running = serverOfSuite()

  const ask = (more: Form) => post(`${running.issuer}/token`, { grant_type: 'unauthenticated_session', ...more })

  it('answers as the recorded service does: token twice, no lifetime', async () => {
    const response = await ask({ client_id: 'spa', ip_address: '192.168.1.1' })
    assert.equal(response.status, 200)
    const tokens = await json(response)
    assert.deepEqual(Object.keys(tokens), ['access_token', 'token_type', 'token'])
    assert.equal(tokens.token_type, 'family_search')
    assert.equal(tokens.token, tokens.access_token)
    const claims = decodeJwt(tokens.token as string)
    assert.equal(claims.session_kind, 'unauthenticated')
    assert.equal(claims.client_id, 'spa')
    assert.equal(claims.sub, 'spa')
    assert.equal('scope' in claims, false)
  })

  it('refuses a missing or malformed address, an unknown app, and one not registered for it', async () => {
    for (const ip of ['', '999.1.1.1', 'localhost', '1.2.3.4 ']) {
      assert.equal((await json(await ask({ client_id: 'spa', ip_address: ip }))).error, 'invalid_request')
    }
    assert.equal((await ask({ client_id: 'spa', ip_address: '2001:db8::1' })).status, 200)
    assert.equal((await json(await ask({ client_id: 'nobody', ip_address: '1.2.3.4' }))).error, 'invalid_client')
    const web = await ask({ client_id: 'web', client_secret: 'secret', ip_address: '1.2.3.4' })
    assert.equal((await json(web)).error, 'unauthorized_client')
  })
})

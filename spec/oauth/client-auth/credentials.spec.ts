import assert from 'node:assert/strict'
import { createPrivateKey, hash, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { type JWK, SignJWT } from 'jose'
import { type ClientRegistration, authorizationServer, clientDirectory } from '../../../lib/oauth'
import { manualClock } from '../../../lib/testing'
import { TimestampDigests } from '../../../lib/oauth/client-auth/timestamp-digests'
import { generateKeys } from '../../support/generate-keys'
import { CLIENT_KEYS, type Form, SIGNING_KEY, USERS, json, post, serverOfSuite, startServer } from '../support'
import { assertIs, below } from '../../support/until'

const BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const job = (more: Partial<ClientRegistration>): ClientRegistration => ({
  ...{ clientId: 'job', name: 'Job', grants: ['client_credentials'] as const, scopes: ['a'] },
  ...more,
})

async function started(app: ClientRegistration) {
  const clock = manualClock()
  const running = await startServer({ clock, clients: clientDirectory([app]) })
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
  it('may be EC P-256 or Ed25519, as PEM, JWK or KeyObject, and signs with its own algorithm alone', async () => {
    for (const [kind, alg] of [
      ['ec', 'ES256'],
      ['ed25519', 'EdDSA'],
    ] as const) {
      const { publicKey, privateKey } = generateKeys(kind)
      const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
      for (const key of [publicKey, pem, publicKey.export({ format: 'jwk' }) as JWK, pem.replaceAll('\n', '\\n')]) {
        const { assert: tried } = await started(job({ publicKeys: [key, CLIENT_KEYS.publicKey] }))
        assert.equal(await tried(privateKey, alg), 200)
        assert.equal(await tried(CLIENT_KEYS.privateKey, 'PS256'), 200, 'the other of two')
        assert.equal(await tried(generateKeys(kind).privateKey, alg), 401)
      }
    }
    const { issuer } = await started(job({ secret: 'secret' }))
    const metadata = await json(await fetch(`${issuer}/.well-known/openid-configuration`))
    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'])
      assert.ok((metadata.token_endpoint_auth_signing_alg_values_supported as string[]).includes(alg), alg)
  })

  it('RFC 7523 §3: an assertion may end as far beyond ten minutes as it may have ended before now', async () => {
    const { assert: tried, nowSec } = await started(job({ publicKeys: [CLIENT_KEYS.publicKey] }))
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
  it('may be two at once, so that one replaces the other', async () => {
    const { ask } = await started(job({ secret: ['old-secret', 'new-secret'] }))
    const basic = (secret: string) => ({ authorization: `Basic ${btoa(`job:${secret}`)}` })
    for (const secret of ['old-secret', 'new-secret']) {
      assert.equal((await ask({ client_id: 'job', client_secret: secret })).status, 200)
      assert.equal((await ask({}, basic(secret))).status, 200)
    }
    for (const secret of ['other', 'old-secretnew-secret', '']) assert.equal((await ask({}, basic(secret))).status, 401)
  })

  it('RFC 6749 §5.2: a challenge comes only where the request had an Authorization field', async () => {
    const { ask } = await started(job({ secret: 'secret' }))
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

/** Client ids and secrets that are hard to write into a Basic field. */
const APPS = [
  ['plain', 'AbC+/x%41y=='],
  ['colon', 'a:b::c'],
  ['percent', '100% & more%zz'],
  ['space', ' a  b '],
  ['umlaut', 'pässwörd'],
  ['emoji', '\u{1F511}key'],
  ['urn:example:app', 'x:y'],
  ['https://app.example.org:8443/meta', 'se+cret'],
  ['a+b', '+'],
  ['a%41', '%'],
  ["(!*'~$&)", "(!*'~$&)"],
] as const

describe('client_secret_basic', () => {
  const apps = APPS.map(([clientId, secret]) => ({ clientId, name: 'App', secret }))
  const running = serverOfSuite({
    clients: clientDirectory(apps.map((app) => ({ ...app, grants: ['client_credentials'] }))),
  })

  const ask = (bytes: Buffer, more = {}) => {
    const authorization = `Basic ${bytes.toString('base64')}`
    return post(`${running.issuer}/token`, { grant_type: 'client_credentials', ...more }, { authorization })
  }
  const formEncoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)

  it('RFC 6749 §2.3.1: client ids and secrets of any characters, form-encoded, percent-encoded or as they are', async () => {
    for (const [clientId, secret] of APPS) {
      for (const encode of [formEncoded, encodeURIComponent, String]) {
        const text = `${encode(clientId)}:${encode(secret)}`
        assert.equal((await ask(Buffer.from(text))).status, 200, text)
        assert.equal((await ask(Buffer.from(text), { client_id: clientId })).status, 200, text)
      }
    }
  })

  it('RFC 7617 §2: a secret in ISO 8859-1, as Python sends it', async () => {
    assert.equal((await ask(Buffer.from('umlaut:pässwörd', 'latin1'))).status, 200)
  })

  it('what is no secret of the client is invalid_client: encoded twice, of another client, with NUL or line breaks', async () => {
    for (const text of [
      `plain:${encodeURIComponent(encodeURIComponent('AbC+/x%41y=='))}`,
      'plain:AbC /xAy==',
      'umlaut:passwort',
      'urn:example:app:y',
      'urn:x:y',
      'colon:a:b::c\0',
      'colon\0:a:b::c',
      'colon\r\n:a:b::c',
      'plain',
      ':AbC+/x%41y==',
      '::::::::',
      `${'a:'.repeat(4_000)}plain`,
    ]) {
      const response = await ask(Buffer.from(text))
      assert.deepEqual([response.status, (await json(response)).error], [401, 'invalid_client'], JSON.stringify(text))
    }
    assert.equal((await ask(Buffer.from('colon:a:b::c'), { client_id: 'umlaut' })).status, 401, 'another in the body')
  })
})

const digest = (time: number) => hash('sha256', String(time))

describe('TimestampDigests', () => {
  it('finds every time within the tolerance and none beyond, however the clock goes', async () => {
    const tolerance = 5_000
    const digests = new TimestampDigests('sha256', tolerance)
    let now = 1_800_000_000_000
    for (const step of [0, 1, 4_000, 9_999, 10_000, 10_001, 123_456, -1, -7_000, -50_000, 3, 10_002]) {
      now += step
      for (const away of [0, 1, -1, 1_999, -2_001, 4_999, -4_999, tolerance, -tolerance])
        assert.equal(await digests.find(digest(now + away), now), now + away, `${step} ${away}`)
      for (const away of [tolerance + 1, -tolerance - 1, 3_600_000, -3_600_000])
        assert.equal(await digests.find(digest(now + away), now), undefined, `${step} ${away}`)
    }
  })
})

describe('a timestamp secret', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock })

  const signed = (time: number) => sign('sha256', Buffer.from(String(time)), CLIENT_KEYS.privateKey).toString('base64')
  const ask = async (secret: string) => {
    const form = { grant_type: 'client_credentials', client_id: 'service', client_secret: secret }
    return (await post(`${running.issuer}/token`, form)).status
  }
  /** CPU milliseconds that each of these takes. */
  const cpuMs = async (secrets: string[], status: number) => {
    const before = process.cpuUsage()
    for (const secret of secrets) assert.equal(await ask(secret), status)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000 / secrets.length
  }

  it('signed long ago costs no more than a good one, and the same one is not checked twice', async (t) => {
    const hourAgo = clock.date() - 3_600_000
    const good = Array.from({ length: 30 }, (_, i) => signed(clock.date() + i))
    const old = Array.from({ length: 30 }, (_, i) => signed(hourAgo + i))
    await ask(signed(hourAgo - 1)) // hashes the times around now, once for all clients
    const goodMs = await cpuMs(good, 200)
    const oldMs = await cpuMs(old, 401)
    clock.advance(500) // 500 more times to hash, once
    const againMs = await cpuMs(old, 401)
    t.diagnostic(`CPU each: ${goodMs.toFixed(2)} ms good, ${oldMs.toFixed(2)} ms old, ${againMs.toFixed(2)} ms again`)
    assertIs(oldMs, below(3 * goodMs + 3), `${oldMs} ms, a good one ${goodMs} ms`)
    assertIs(againMs, below(3 * goodMs + 3), `${againMs} ms, a good one ${goodMs} ms`)
  })
})

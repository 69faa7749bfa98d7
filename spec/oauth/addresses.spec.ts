import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { authorizationServer, clientDirectory } from '../../lib/oauth'
import { USERS, startServer } from './support'
import { UserAgent, request } from './user-agent'

const make = (issuer: string, more: object = {}) =>
  authorizationServer({ issuer, clients: clientDirectory([]), users: USERS, log: () => undefined, ...more })
const register = (uri: string, more: object = {}) =>
  clientDirectory([{ clientId: 'a', name: 'A', redirectUris: [uri] }], more)

const HERE = [
  'http://localhost:3000',
  'http://app.localhost:3000',
  'http://a.b.localhost',
  'http://127.0.0.1',
  'http://[::1]:80',
].map((one) => one.replace(':80', ''))
const INNER = [
  'http://auth:3000',
  'http://192.168.178.20:3000',
  'http://host.docker.internal:3000',
  'http://10.0.2.2:3000',
]
const MORE_INNER = [
  'http://172.16.0.1',
  'http://[fd12::1]',
  'http://nas.local',
  'http://router.lan',
  'http://169.254.1.1',
]
const PUBLIC = [
  'http://ident.example.org',
  'http://8.8.8.8',
  'http://172.32.0.1',
  'http://localhost.example.org',
  'http://notlocalhost.org',
]

/** The warnings of this process, as texts. */
async function warnings(t: { after(fn: () => void): void }, use: () => void): Promise<string[]> {
  const seen: string[] = []
  const hear = (warning: Error) => seen.push(warning.message)
  process.on('warning', hear)
  t.after(() => process.off('warning', hear))
  use()
  await new Promise((resolve) => setImmediate(resolve))
  return seen
}

describe('an http issuer', () => {
  it('is taken on this machine, *.localhost included, and anywhere with allowHttp, without a word', async (t) => {
    const said = await warnings(t, () => {
      for (const issuer of HERE) make(issuer)
      for (const issuer of [...INNER, ...MORE_INNER, ...PUBLIC]) make(issuer, { allowHttp: true })
    })
    assert.deepEqual(said, [])
  })

  it('is refused on the public Internet, and taken on a local network with one warning', async (t) => {
    for (const issuer of PUBLIC)
      assert.throws(() => make(issuer), /issuer must be an https URL .* allowHttp: true/, issuer)
    const said = await warnings(t, () => [...INNER, ...MORE_INNER].forEach((issuer) => make(issuer)))
    assert.equal(said.length, 1)
    assert.match(said[0] ?? '', /the issuer http:\/\/auth:3000 is http on a local network.*allowHttp: true/)
    for (const allowHttp of ['yes', 1, null])
      assert.throws(() => make('https://a.test', { allowHttp }), /allowHttp must be true or false/)
  })
})

describe('an http redirect URI', () => {
  it('is as the issuer: this machine, a local network, or anywhere with allowHttp', () => {
    for (const origin of [...HERE, ...INNER, ...MORE_INNER]) register(`${origin}/cb`)
    for (const origin of PUBLIC) {
      assert.throws(
        () => register(`${origin}/cb`),
        /must be https except on localhost, or with allowHttp: true/,
        origin,
      )
      register(`${origin}/cb`, { allowHttp: true })
    }
    assert.throws(() => register('https://a.test/cb', { allowHtp: true }), /clientDirectory has no option "allowHtp"/)
  })

  it('of a stranger is this machine alone, and any host where the server has allowHttp', async (t) => {
    for (const allowHttp of [false, true]) {
      const { issuer, ...running } = await startServer({ registration: { accept: () => ({}) }, allowHttp })
      t.after(() => running.close())
      const status = async (uri: string) => {
        const body = JSON.stringify({ redirect_uris: [uri], token_endpoint_auth_method: 'none' })
        const headers = { 'content-type': 'application/json' }
        return (await fetch(`${issuer}/register`, { method: 'POST', headers, body })).status
      }
      assert.equal(await status('http://app.localhost:5000/cb'), 201)
      for (const origin of [...INNER, ...PUBLIC].slice(0, 8))
        assert.equal(await status(`${origin}/cb`), allowHttp ? 201 : 400, origin)
    }
  })

  it('of *.localhost matches with any port for a native app, as that of localhost does', async (t) => {
    const app = {
      clientId: 'a',
      name: 'A',
      realm: '/a',
      redirectUris: ['http://app.localhost/cb'],
      approval: 'auto' as const,
    }
    const clients = clientDirectory([
      { ...app, anyLocalhostPort: true },
      { ...app, clientId: 'b', anyLocalhostPort: false },
    ])
    const { issuer, ...running } = await startServer({ clients })
    t.after(() => running.close())
    const status = async (client_id: string, redirect_uri: string) =>
      (await new UserAgent(issuer).authorize(issuer, request({ client_id, redirect_uri }))).status
    assert.equal(await status('a', 'http://app.localhost:5173/cb'), 200)
    for (const uri of [
      'http://other.localhost:5173/cb',
      'http://app.localhost:5173/other',
      'http://app.localhost:99999/cb',
    ])
      assert.equal(await status('a', uri), 400, uri)
    assert.deepEqual(
      [await status('b', 'http://app.localhost/cb'), await status('b', 'http://app.localhost:1/cb')],
      [200, 400],
    )
  })
})

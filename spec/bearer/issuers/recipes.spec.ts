import assert from 'node:assert/strict'
import { sign as signBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import express, { type Express } from 'express'
import { type KeyMaterial, type RedisRevocations, requireBearer, sessionOf } from '../../../lib'
import { type DevTokenOptions, devIssuer } from '../../../lib/testing'
import { generateKeys } from '../../support/generate-keys'
import { page } from '../../support/markdown'
import { serve } from '../../support/serve'
import { startRedis } from '../../support/redis'

const home = join(process.cwd(), '.cache', `recipes-${process.pid}`)
mkdirSync(home, { recursive: true })
after(() => rmSync(home, { recursive: true, force: true }))
const load = createRequire(__filename)
const { blocks } = page(process.cwd(), 'docs/providers.md')
let count = 0

/** An app with the code of a recipe, in which texts are replaced by others. It answers with whose session it is. */
async function appOf(heading: string, replaced: Readonly<Record<string, string>> = {}, index = 0): Promise<string> {
  const found = blocks.filter((block) => block.heading === heading && block.language === 'ts' && !block.file)[index]
  let code = found?.text ?? assert.fail(heading)
  for (const [from, to] of Object.entries(replaced)) {
    assert.ok(code.includes(from), from)
    code = code.replaceAll(from, to)
  }
  const file = join(home, `recipe-${++count}.ts`)
  writeFileSync(file, `import express from 'express'\nexport const app = express()\n${code}`)
  const { app } = load(file) as { app: express.Express }
  app.use((req, res) => {
    const { kind, sub, scope } = sessionOf(req)
    res.send(`${kind} ${sub}: ${scope.join()}`)
  })
  return (await serve(app)).url
}

const { publicKey, privateKey } = generateKeys('ec')
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k' }
const inHour = Math.floor(Date.now() / 1_000) + 3_600

/** A signed token; with padding as AWS's load balancer writes it. */
function tokenOf(claims: object, header: object = {}, format: 'base64' | 'base64url' = 'base64url', key = privateKey) {
  const encode = (bytes: Buffer) => bytes.toString(format).replaceAll('+', '-').replaceAll('/', '_')
  const parts = [
    { alg: 'ES256', kid: 'k', ...header },
    { exp: inHour, sub: 'ada', ...claims },
  ]
  const input = parts.map((part) => encode(Buffer.from(JSON.stringify(part)))).join('.')
  return `${input}.${encode(signBytes('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }))}`
}

const ask = async (url: string, token: string, field = 'authorization') => {
  const answer = await fetch(url, { headers: { [field]: field === 'authorization' ? `Bearer ${token}` : token } })
  return answer.status === 200 ? answer.text() : answer.status
}

describe('recipes of docs/providers.md', () => {
  it('Keycloak in docker compose: the issuer as tokens have it, the keys as the container reaches them', async () => {
    const fetched: string[] = []
    const inside = await serve((req, res) => {
      fetched.push(req.url as string)
      res.end(JSON.stringify({ keys: [jwk] }))
    })
    process.env.JWKS_URI = `${inside.url}/realms/acme/protocol/openid-connect/certs`
    after(() => delete process.env.JWKS_URI)
    const url = await appOf('Keycloak in docker compose')
    const claims = {
      iss: 'http://localhost:8080/realms/acme',
      aud: 'tree-api',
      typ: 'Bearer',
      sid: 's',
      azp: 'web',
      scope: 'a',
    }
    assert.equal(await ask(url, tokenOf(claims)), 'user ada: a')
    assert.equal(await ask(url, tokenOf({ ...claims, iss: 'http://keycloak:8080/realms/acme' })), 401)
    assert.equal(await ask(url, tokenOf({ ...claims, typ: 'ID' })), 401)
    assert.deepEqual(fetched, ['/realms/acme/protocol/openid-connect/certs'])
  })

  it('Entra of customers that a database knows, and of both versions', async () => {
    const pair = generateKeys('rsa')
    const rsa = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'k' }
    const rs256 = (claims: object) => {
      const all = { sub: 's', oid: 'o', azp: 'web', scp: 'a', ...claims }
      return tokenOf(all, { alg: 'RS256' }, 'base64url', pair.privateKey)
    }
    const keys = await serve(
      (_req, res) =>
        void res.end(
          JSON.stringify({ keys: [{ ...rsa, issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0' }] }),
        ),
    )
    const tid = '72f988bf-86f1-41af-91ab-2d7cd011db47'
    const aud = '6e74172b-be56-4843-9ff4-e66a39bb12e3'
    const [v1, v2] = [`https://sts.windows.net/${tid}/`, `https://login.microsoftonline.com/${tid}/v2.0`]
    const many = await appOf('Microsoft Entra ID', {
      "audience: '6e": `more: { jwksUri: '${keys.url}' }, audience: '6e`,
    })
    assert.equal(await ask(many, rs256({ iss: v2, tid, aud })), 'user s: a')
    const stranger = '9188040d-6c67-4c5b-b112-36a304b66dad'
    assert.equal(await ask(many, rs256({ iss: v2.replace(tid, stranger), tid: stranger, aud })), 401)
    const both = await appOf(
      'Microsoft Entra ID',
      { 'https://login.microsoftonline.com/${tenant}/discovery/v2.0/keys': keys.url },
      1,
    )
    assert.equal(await ask(both, rs256({ iss: v2, tid, aud })), 'user s: a')
    assert.equal(await ask(both, rs256({ iss: v1, tid, aud: `api://${aud}`, appid: 'web' })), 'user s: a')
    assert.equal(await ask(both, rs256({ iss: v2, tid, aud: `api://${aud}` })), 401)
  })

  it('realms by the name of the issuer', async () => {
    const sso = await serve((req, res) => {
      const [, realm, rest] = /^\/realms\/(\w+)(\/.+)$/.exec(req.url ?? '') ?? []
      const issuer = `${sso.url}/realms/${realm}`
      res.end(JSON.stringify(rest === '/keys' ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` }))
    })
    const url = await appOf("Tenants by the issuer's name", { 'https://sso.example.org': sso.url })
    const token = (realm: string, typ = 'Bearer') =>
      tokenOf({ iss: `${sso.url}/realms/${realm}`, aud: 'tree-api', typ, sid: 's', azp: 'web' })
    assert.deepEqual([await ask(url, token('acme')), await ask(url, token('globex'))], ['user ada: ', 'user ada: '])
    assert.equal(await ask(url, token('initech')), 401)
    assert.equal(await ask(url, token('acme', 'ID')), 401)
  })

  it('the Firebase emulator, in development only', async () => {
    const token = (claims: object = {}) => {
      const all = {
        iss: 'https://securetoken.google.com/demo-acme',
        aud: 'demo-acme',
        sub: 'ada',
        exp: inHour,
        ...claims,
      }
      return `${[{ alg: 'none', typ: 'JWT' }, all].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`
    }
    process.env.FIREBASE_AUTH_EMULATOR_HOST = 'localhost:9099'
    const url = await appOf('Firebase emulator')
    process.env.NODE_ENV = 'production'
    after(() => {
      delete process.env.FIREBASE_AUTH_EMULATOR_HOST
      delete process.env.NODE_ENV
    })
    const production = await appOf('Firebase emulator')
    assert.equal(await ask(url, token()), 'user ada: ')
    for (const bad of [token({ aud: 'other' }), token({ exp: 1 }), 'e30.x.']) assert.equal(await ask(url, bad), 401)
    assert.equal(await ask(production, token()), 401)
  })

  it('the load balancer of AWS, with padding and a key for each kid', async () => {
    const asked: string[] = []
    const keys = await serve((req, res) => {
      asked.push(req.url as string)
      if (req.url === '/k') res.end(publicKey.export({ type: 'spki', format: 'pem' }))
      else res.writeHead(403).end('<Error>')
    })
    const url = await appOf('AWS Application Load Balancer', {
      'https://public-keys.auth.elb.eu-west-1.amazonaws.com': keys.url,
    })
    const iss = 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI'
    const signer = 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/tree/50dc6c495c0c9188'
    const field = 'x-amzn-oidc-data'
    let padded = ''
    for (const sub of ['ada', 'ada1', 'ada12']) {
      padded = tokenOf({ iss, sub }, { signer }, 'base64')
      assert.match(padded, /==$/)
      assert.equal(await ask(url, padded, field), `user ${sub}: `)
      assert.equal(await ask(url, tokenOf({ iss, sub }, { signer }), field), `user ${sub}: `)
    }
    assert.deepEqual(asked, ['/k'])
    assert.equal(await ask(url, padded), 400) // known, but another source has no padding
    for (const bad of [
      tokenOf({ iss }, { signer: `${signer}x` }, 'base64'),
      tokenOf({ iss }, { signer, kid: '../k' }, 'base64'),
      tokenOf({ iss }, { signer }, 'base64').replace(/==$/, '==='),
      tokenOf({ iss }, { signer }, 'base64').replace(/==$/, '='),
    ]) {
      assert.equal(await ask(url, bad, field), 401)
    }
    assert.deepEqual(asked, ['/k', '/..%2Fk'])
  })
})

const dev = devIssuer({ issuer: 'https://ident.example.org', audience: 'https://api.example.org' })

type Mount = (app: Express, url: string, key: KeyMaterial) => RedisRevocations

/** An app with a recipe of docs/bearer.md, over a Redis of its own and with the key of an issuer here. */
async function appWith(path: string) {
  const redis = await startRedis()
  after(() => redis.stop())
  const app = express()
  const revocation = recipe(path)(app, `redis://127.0.0.1:${redis.port}`, dev.options.key)
  after(() => revocation.close())
  app.get('/', requireBearer({ ...dev.options, revocation }), (_req, res) => void res.sendStatus(200))
  const { url } = await serve(app)
  await revocation.ready()
  return url
}

function recipe(path: string): Mount {
  const { text } =
    page(process.cwd(), 'docs/bearer.md').blocks.find(({ text }) => text.includes(`app.post('${path}'`)) ?? {}
  assert.ok(text)
  const body = text
    .replace(/^import .*$/gm, '')
    .replace("'redis://localhost:6379'", 'url')
    .replace('requireBearer({', 'requireBearer({ key,')
    .replace('createRemoteJWKSet(new URL(`${issuer}/jwks`))', 'key')
    .replace('const app = express()', '')
    .replace(/^process\.once.*$/m, '')
  const imports = (text.match(/^import .*$/gm) ?? []).join('\n')
  const file = join(home, `${path.slice(1)}.ts`)
  writeFileSync(file, `${imports}\nexport const mount = (app, url, key) => {${body}\nreturn revocation }`)
  return (load(file) as { mount: Mount }).mount
}

describe('POST /logout of docs/bearer.md', async () => {
  const url = await appWith('/logout')
  const token = (who: string, claims: DevTokenOptions['claims'] = {}) => dev.token(who, { clientId: 'app', claims })
  const ask = async (bearer: string, path = '/', method = 'GET') =>
    (await fetch(url + path, { method, headers: { authorization: `Bearer ${bearer}` } })).status

  it('revokes the token, and no other of its user', async () => {
    const [one, other] = [token('ada'), token('ada')]
    assert.equal(await ask(one, '/logout', 'POST'), 204)
    assert.deepEqual([await ask(one), await ask(other)], [401, 200])
  })

  it('revokes all tokens of the user on request', async () => {
    const [one, other, another] = [token('grace'), token('grace'), token('ada')]
    assert.equal(await ask(one, '/logout?everywhere', 'POST'), 204)
    assert.deepEqual([await ask(one), await ask(other), await ask(another)], [401, 401, 200])
  })

  it('revokes all tokens of the user if the token has no jti', async () => {
    const [one, other] = [token('alan', { jti: undefined }), token('alan')]
    assert.equal(await ask(one, '/logout', 'POST'), 204)
    assert.deepEqual([await ask(one), await ask(other)], [401, 401])
  })

  it('refuses a token with neither jti nor subject', async () => {
    const job = token('job', { jti: undefined, sub: undefined, session_kind: 'client' })
    assert.equal(await ask(job, '/logout', 'POST'), 409)
    assert.equal(await ask(job), 200)
  })
})

describe('POST /backchannel-logout of docs/bearer.md', async () => {
  const url = await appWith('/backchannel-logout')
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const post = async (claims: DevTokenOptions['claims']) => {
    const body = new URLSearchParams({ logout_token: dev.token('ada', { claims: { aud: 'web', ...claims } }) })
    return (await fetch(`${url}/backchannel-logout`, { method: 'POST', body })).status
  }
  const ask = async (token: string) => (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status

  it('ends the tokens of one login, then those of the user', async () => {
    const [one, two] = ['one', 'two'].map((sid) => dev.token('ada', { claims: { sid } })) as [string, string]
    assert.deepEqual([await post({ events, sid: 'one' }), await ask(one), await ask(two)], [200, 401, 200])
    assert.deepEqual([await post({ events }), await ask(two)], [200, 401])
  })

  it('refuses a token that is no logout token', async () => {
    for (const claims of [{ sid: 'x' }, { events: {} }, { events, nonce: 'n' }, { events, aud: 'other' }])
      assert.equal(await post(claims), 400, JSON.stringify(claims))
  })
})

import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import express, { type Express } from 'express'
import { type KeyMaterial, type RedisRevocations, requireBearer } from '../../../lib'
import { type DevTokenOptions, devIssuer } from '../../../lib/testing'
import { page } from '../../support/markdown'
import { startRedis } from '../../support/redis'
import { serve } from '../../support/serve'

const root = process.cwd()
const home = join(root, '.cache', `logout-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))
const dev = devIssuer({ issuer: 'https://ident.example.org', audience: 'https://api.example.org' })

type Mount = (app: Express, url: string, key: KeyMaterial) => RedisRevocations

/** A recipe as docs/bearer.md has it, with its Redis here and the key of an issuer here. */
function recipe(path: string): Mount {
  const { text } = page(root, 'docs/bearer.md').blocks.find(({ text }) => text.includes(`app.post('${path}'`)) ?? {}
  assert.ok(text)
  const body = text
    .replace(/^import .*$/gm, '')
    .replace("'redis://localhost:6379'", 'url')
    .replace('requireBearer({', 'requireBearer({ key,')
    .replace('createRemoteJWKSet(new URL(`${issuer}/jwks`))', 'key')
    .replace('const app = express()', '')
    .replace(/^process\.once.*$/m, '')
  const imports = (text.match(/^import .*$/gm) ?? []).join('\n')
  mkdirSync(home, { recursive: true })
  const file = join(home, `${path.slice(1)}.ts`)
  writeFileSync(file, `${imports}\nexport const mount = (app, url, key) => {${body}\nreturn revocation }`)
  return (createRequire(__filename)(file) as { mount: Mount }).mount
}

describe('POST /logout of docs/bearer.md', async () => {
  const redis = await startRedis()
  after(() => redis.stop())
  const app = express()
  const revocation = recipe('/logout')(app, `redis://127.0.0.1:${redis.port}`, dev.options.key)
  after(() => revocation.close())
  app.get('/', (_req, res) => void res.sendStatus(200))
  const { url } = await serve(app)
  await revocation.ready()

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
  const redis = await startRedis()
  after(() => redis.stop())
  const app = express()
  const key = dev.options.key
  const revocation = recipe('/backchannel-logout')(app, `redis://127.0.0.1:${redis.port}`, key)
  after(() => revocation.close())
  app.get('/', requireBearer({ ...dev.options, revocation }), (_req, res) => void res.sendStatus(200))
  const { url } = await serve(app)
  await revocation.ready()

  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const post = async (claims: DevTokenOptions['claims']) => {
    const body = new URLSearchParams({ logout_token: dev.token('ada', { claims: { aud: 'web', ...claims } }) })
    return (await fetch(`${url}/backchannel-logout`, { method: 'POST', body })).status
  }
  const ask = async (sid: string) =>
    (await fetch(url, { headers: { authorization: `Bearer ${dev.token('ada', { claims: { sid } })}` } })).status

  it('ends the tokens of one login, then those of the user', async () => {
    assert.deepEqual([await post({ events, sid: 'one' }), await ask('one'), await ask('two')], [200, 401, 200])
    assert.deepEqual([await post({ events }), await ask('two')], [200, 401])
  })

  it('refuses a token that is no logout token', async () => {
    for (const claims of [{ sid: 'x' }, { events: {} }, { events, nonce: 'n' }, { events, aud: 'other' }])
      assert.equal(await post(claims), 400, JSON.stringify(claims))
  })
})

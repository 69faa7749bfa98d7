import assert from 'node:assert/strict'
import { type KeyObject, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import express from 'express'
import { SignJWT } from 'jose'
import { allowUnauthenticated, requireBearer } from '../../../lib'
import { type SupabaseOptions, supabase } from '../../../lib/providers'
import { generateKeys } from '../../support/generate-keys'
import { serve } from '../../support/serve'

const project = 'abcdefghijklmnopqrst'
const issuer = `https://${project}.supabase.co/auth/v1`
const secret = 'super-secret-jwt-token-with-at-least-32-characters'
const es256 = generateKeys('ec')
const rs256 = generateKeys('rsa')
const jwk = { ...es256.publicKey.export({ format: 'jwk' }), kid: 'new', alg: 'ES256', use: 'sig', key_ops: ['verify'] }
/** The legacy secret's tokens name a kid as well. */
const LEGACY = { alg: 'HS256', kid: 'legacy', typ: 'JWT' }
const NEW = { alg: 'ES256', kid: 'new', typ: 'JWT' }

function sign(header: typeof LEGACY, key: KeyObject | string, claims: object = {}): Promise<string> {
  const jwt = new SignJWT({ role: 'authenticated', session_id: randomUUID(), is_anonymous: false, ...claims })
  const named = jwt.setIssuer(issuer).setAudience('authenticated').setSubject('ada').setIssuedAt()
  return named
    .setExpirationTime('1h')
    .setProtectedHeader(header)
    .sign(typeof key === 'string' ? Buffer.from(key) : key)
}

/** The project's API, which fetches its keys from a server on this machine. */
async function started(keys: object[], options: Partial<SupabaseOptions> = {}) {
  const jwks = await serve(express().get('/jwks', (_req, res) => void res.json({ keys })))
  const given = supabase({ project, secret, ...options, more: { jwksUri: `${jwks.url}/jwks` } })
  const bearer = requireBearer({ ...given, warnings: false })
  const app = express().use(allowUnauthenticated({ paths: ['/'], methods: ['GET'] }), bearer)
  const { url } = await serve(app.get('/', (req, res) => void res.send(`${req.auth?.kind} ${req.auth?.sub}`)))
  const ask = async (token: string | Promise<string>) => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${await token}` } })
    return response.ok ? response.text() : response.status
  }
  return { bearer, ask, jwks }
}

describe('supabase({ project, secret })', () => {
  it('accepts tokens of the legacy secret and of the signing keys', async () => {
    const { bearer, ask } = await started([jwk])
    await bearer.ready()
    assert.equal(await ask(sign(LEGACY, secret)), 'user ada')
    assert.equal(await ask(sign(NEW, es256.privateKey)), 'user ada')
    for (const claims of [{ is_anonymous: true }, { role: 'anon' }]) {
      const outcome = 'role' in claims ? 401 : 'unauthenticated ada'
      assert.equal(await ask(sign(LEGACY, secret, claims)), outcome)
      assert.equal(await ask(sign(NEW, es256.privateKey, claims)), outcome)
    }
    const keys = bearer.keys().map(({ kid, algorithms }) => [kid, ...algorithms])
    assert.deepEqual(keys, [
      ['new', 'ES256'],
      [undefined, 'HS256'],
    ])
  })

  it('accepts the legacy secret alone before the project has signing keys', async () => {
    const { bearer, ask } = await started([])
    await bearer.ready()
    await bearer.reload()
    assert.equal(await ask(sign(LEGACY, secret)), 'user ada')
    assert.equal(await ask(sign(NEW, es256.privateKey)), 401)
  })

  it('refuses the legacy secret once it is left out of the options', async () => {
    const { ask } = await started([jwk], { secret: undefined as never })
    assert.equal(await ask(sign(NEW, es256.privateKey)), 'user ada')
    assert.equal(await ask(sign(LEGACY, secret)), 401)
  })

  it('never verifies HS256 with a public key, nor another algorithm with the secret', async () => {
    const rsaJwk = { ...rs256.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'RS256' }
    const { ask } = await started([jwk, rsaJwk])
    for (const { publicKey } of [es256, rs256]) {
      const pem = String(publicKey.export({ format: 'pem', type: 'spki' }))
      for (const kid of ['legacy', 'new', 'rsa']) assert.equal(await ask(sign({ ...LEGACY, kid }, pem)), 401)
    }
    for (const alg of ['HS384', 'HS512']) assert.equal(await ask(sign({ ...LEGACY, alg }, secret.repeat(2))), 401)
    assert.equal(await ask(sign(LEGACY, 'guess'.repeat(8))), 401)
  })

  it('accepts the legacy secret while the JWK Set cannot be fetched', async () => {
    const { bearer, ask, jwks } = await started([jwk])
    await jwks.close()
    await assert.rejects(bearer.ready(), /cannot be loaded/)
    assert.equal(await ask(sign(LEGACY, secret)), 'user ada')
    assert.equal(await ask(sign(NEW, es256.privateKey)), 503)
  })

  it('rejects ready() where the set has keys and none is usable', async () => {
    const { bearer } = await started([{ ...jwk, use: 'enc' }])
    await assert.rejects(bearer.ready(), /the key 'new' is left out/)
  })
})

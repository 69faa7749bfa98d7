import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { sign } from 'jsonwebtoken'
import {
  type BearerOptions,
  type KeyMaterial,
  type Session,
  requireBearer,
  sessionOf,
  throttle,
} from '../../../lib/index'
import { keyPair, serveIssuer } from '../../support/issuer'
import { serve } from '../../support/serve'
import { generateKeys } from '../../support/generate-keys'
import { apiOf } from '../api'

const rsa = generateKeys('rsa')
const one = {
  issuer: 'https://one.test',
  audience: 'api-1',
  key: { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'k' },
}
const ec = keyPair('k')
const two = { issuer: 'https://two.test', audience: 'api-2', key: ec.jwk as unknown as KeyMaterial }

function token(iss: unknown, aud: string, algorithm: 'RS256' | 'ES256' = 'RS256') {
  const header = { alg: algorithm, kid: 'k' }
  const payload = JSON.stringify({ iss, aud, sub: '1', exp: 4_102_444_800 })
  return sign(payload, algorithm === 'RS256' ? rsa.privateKey : ec.privateKey, { algorithm, header })
}

async function asking(options: BearerOptions) {
  const { ask } = await apiOf(options, (req, res) => void res.send(sessionOf(req).issuer))
  return async (bearer: string) => {
    const answer = await ask(bearer)
    return answer.status === 200 ? answer.text() : answer.status
  }
}

describe('requireBearer({ issuers })', () => {
  const options = { issuers: [one, two] } as BearerOptions

  it('takes each issuer’s tokens by its own keys and audience', async () => {
    const ask = await asking(options)
    assert.equal(await ask(token(one.issuer, 'api-1')), one.issuer)
    assert.equal(await ask(token(two.issuer, 'api-2', 'ES256')), two.issuer)
    assert.equal(await ask(token(one.issuer, 'api-2')), 401)
    assert.equal(await ask(token(two.issuer, 'api-1', 'ES256')), 401)
  })

  it('never checks a token with another issuer’s key, be the kid the same', async () => {
    const ask = await asking(options)
    assert.equal(await ask(token(two.issuer, 'api-2', 'RS256')), 401)
    assert.equal(await ask(token(one.issuer, 'api-1', 'ES256')), 401)
    const same = { ...two, key: { ...one.key, kid: 'k2' } } as IssuerLike
    const both = await asking({ issuers: [one, same] })
    assert.equal(await both(token(two.issuer, 'api-2')), 401) // its kid is the other's
  })

  it('refuses issuers it does not know, however written', async () => {
    const ask = await asking(options)
    const names = ['https://three.test', 'https://one.test/', 'https://ONE.test', '', '__proto__']
    for (const iss of [...names, undefined, [one.issuer], { a: 1 }]) {
      assert.equal(await ask(token(iss, 'api-1')), 401, JSON.stringify(iss))
    }
  })

  it('does not let one issuer’s outage touch another', async () => {
    const a = keyPair('a')
    const down = await serveIssuer(a)
    down.state.down = true
    const ask = await asking({ issuers: [{ issuer: down.issuer }, one], audience: ['api', 'api-1'] })
    assert.equal(await ask(down.token()), 503)
    assert.equal(await ask(token(one.issuer, 'api-1')), one.issuer)
    assert.deepEqual(down.state.fetches, ['/.well-known/openid-configuration'])
  })

  it('has every checkClaims agree, and goes by the issuer’s own session before that for all', async () => {
    const told: string[] = []
    const check = (name: string, answer: (aud: unknown) => unknown) => (claims: { aud?: unknown }) => {
      told.push(name)
      return answer(claims.aud) as boolean
    }
    const session = (kind: string) => () => ({ kind: 'client' as const, clientId: kind })
    const options = {
      issuers: [{ ...one, checkClaims: check('own', (aud) => aud === 'api-1'), session: session('own') }, two],
      audience: ['api-1', 'api-2', 'api-3'],
      checkClaims: check('all', (aud) => aud !== 'api-3'),
      session: session('all'),
    } as BearerOptions
    const api = await apiOf(options, (req, res) => void res.send(sessionOf(req).clientId))
    const ask = async (bearer: string) => {
      const answer = await api.ask(bearer)
      return [answer.status, answer.status === 200 ? await answer.text() : '', ...told.splice(0)]
    }
    assert.deepEqual(await ask(token(one.issuer, 'api-1')), [200, 'own', 'all', 'own'])
    assert.deepEqual(await ask(token(two.issuer, 'api-2', 'ES256')), [200, 'all', 'all'])
    const truthy = await asking({ issuers: [{ ...one, checkClaims: () => true }], checkClaims: () => 1 } as never)
    assert.equal(await truthy(token(one.issuer, 'api-1')), 401)
    const refused = await asking({ issuers: [{ ...one, checkClaims: () => false }], checkClaims: () => true })
    assert.equal(await refused(token(one.issuer, 'api-1')), 401)
  })

  it('fetches with the issuer’s own fetch before that for all, and without introspection where that is undefined', async () => {
    const fetched: string[] = []
    const by = (name: string) => () => {
      fetched.push(name)
      return Promise.resolve(Response.json({ keys: [{ ...one.key }] }))
    }
    const at = { audience: 'api-1', jwksUri: 'https://keys.test', introspection: undefined }
    const ask = await asking({
      issuers: [
        { ...at, issuer: 'https://one.test', fetch: by('own') },
        { ...at, issuer: 'https://other.test' },
      ],
      fetch: by('all'),
    })
    assert.equal(await ask(token('https://one.test', 'api-1')), 'https://one.test')
    assert.equal(await ask(token('https://other.test', 'api-1')), 'https://other.test')
    assert.deepEqual(fetched, ['own', 'all'])
  })

  it('takes all names of an issuer whose keys were discovered by the first, and sessions have the first', async () => {
    const served = await serveIssuer(ec)
    const ask = await asking({ issuer: [served.issuer, 'https://alias.test'], audience: 'api' })
    assert.equal(await ask(served.token()), served.issuer)
    assert.equal(await ask(served.token(ec, { iss: 'https://alias.test' })), served.issuer)
    assert.equal(await ask(served.token(ec, { iss: 'https://other.test' })), 401)
  })

  it('one user of an issuer with two names has one budget, and one revocation', async () => {
    const served = await serveIssuer(ec)
    const revoked = new Set<string>()
    const state = (session: Session) => (revoked.has(`${session.issuer} ${session.sub}`) ? 'revoked' : 'valid')
    const names = ['https://accounts.test', 'accounts.test']
    const app = express()
      .use(requireBearer({ issuer: names, jwksUri: `${served.issuer}/keys`, audience: 'api', revocation: { state } }))
      .use(throttle({ dialect: 'standard' }), (req, res) => void res.send(req.throttle?.subject))
    const { url } = await serve(app)
    const ask = (iss: string) => fetch(url, { headers: { authorization: `Bearer ${served.token(ec, { iss })}` } })
    for (const iss of names) assert.equal(await (await ask(iss)).text(), 'user:21:https://accounts.test:ada')
    revoked.add('https://accounts.test ada')
    for (const iss of names) assert.equal((await ask(iss)).status, 401)
  })
})

type IssuerLike = { issuer: string; audience: string; key: object }

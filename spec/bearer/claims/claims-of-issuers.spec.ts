import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type RequestHandler } from 'express'
import { type BearerOptions, requireBearer, requireScope, requireStepUp } from '../../../lib'
import { devIssuer } from '../../../lib/testing'
import { serve } from '../../support/serve'

const dev = devIssuer()

async function asking(options: Partial<BearerOptions>, ...rules: RequestHandler[]) {
  const app = express().use(requireBearer({ ...dev.options, warnings: false, ...options }), ...rules)
  const { url } = await serve(app.use((_req, res) => void res.end()))
  return async (claims: object) => {
    const authorization = `Bearer ${dev.token('ada', { claims: { ...claims } })}`
    const { status, headers } = await fetch(url, { headers: { authorization } })
    return [status, /scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1]]
  }
}

describe('what issuers write in claims of their own', () => {
  it('requireScope() names the scopes of rules before it, too', async () => {
    const ask = await asking({ scope: 'a' }, requireScope({ any: ['b', 'c'] }), requireScope('d'))
    assert.deepEqual(await ask({ scope: 'a c' }), [403, 'a c d'])
    assert.deepEqual(await ask({ scope: 'a' }), [403, 'a b c'])
    assert.deepEqual(await ask({ scope: 'a c d' }), [200, undefined])
  })

  it('requireStepUp() and acr read the claims of acrFrom, also a list', async () => {
    for (const [acrFrom, claims, status] of [
      [['acrs'], { acrs: ['c1', 'c2'] }, 200],
      [['aal'], { aal: 'c1' }, 200],
      [['login', 'acr'].slice(0, 1), { acr: 'c1' }, 401],
      [[['login', 'level']], { login: { level: 'c1' } }, 200],
      [undefined, { acr: 'c1' }, 200],
      [undefined, { acr: ['c1'] }, 401],
    ] as const) {
      const options = { acrFrom } as Partial<BearerOptions>
      assert.equal((await (await asking(options, requireStepUp({ acr: 'c1' })))(claims))[0], status)
      assert.equal((await (await asking({ ...options, acr: 'c1' }))(claims))[0], status)
    }
  })

  it('a function in keys is told the tenant, and must look at it', async () => {
    const options = { issuer: 'https://{tenant}.test', tenants: ['a', 'b'], audience: dev.audience }
    assert.throws(() => requireBearer({ ...options, keys: () => dev.options.key }), /take a second argument/)
    const same = () => dev.options.key
    const issuers = ['https://one.test', 'https://two.test'].map((issuer) => ({ issuer, audience: 'api', keys: same }))
    assert.throws(() => requireBearer({ issuers }), /keys with issuers must take a second argument/)
    assert.ok(requireBearer({ issuers: issuers.map((one) => ({ ...one, keys: () => dev.options.key })) }))
    const keys = (_kid: string | undefined, { tenant }: { tenant: string | undefined }) =>
      tenant === 'a' ? dev.options.key : undefined
    const bearer = requireBearer({ ...options, keys, warnings: false })
    const tokenOf = (tenant: string) => dev.token('ada', { claims: { iss: `https://${tenant}.test` } })
    assert.equal((await bearer.check(tokenOf('a'))).userId, 'ada')
    await assert.rejects(bearer.check(tokenOf('b')), { reason: 'unknown_key' })
  })
})

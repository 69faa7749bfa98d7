import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import express from 'express'
import { sign } from 'jsonwebtoken'
import { type IssuerOptions, requireBearer, sessionOf } from '../../../lib'
import * as providers from '../../../lib/providers'
import { readData } from '../../support/data'
import { generateKeys } from '../../support/generate-keys'
import { serve } from '../../support/serve'

const { auth0, clerk, entra, firebase, keycloak, logto, okta, supabase } = providers

const { publicKey, privateKey } = generateKeys('rsa')
const more = { key: publicKey }
const domain = 'acme.example'
const audience = 'api'

/** What a token of an issuer comes to: `user ada of app: scopes`, or why it is refused. */
async function outcome(issuer: IssuerOptions, claims: object): Promise<string> {
  let reason = ''
  const onDenied = (err: { readonly reason?: string | undefined }, _req: unknown, res: express.Response) => {
    reason = err.reason ?? 'refused'
    res.end()
  }
  const app = express().use(requireBearer({ ...issuer, onDenied }), (req, res) => {
    const session = sessionOf(req)
    const { kind, clientId, scope } = session
    const app = clientId === '' ? 'no app' : clientId
    res.send(`${kind} ${session.kind === 'user' ? session.userId : 'nobody'} of ${app}: ${scope.join()}`)
  })
  const { url } = await serve(app)
  const named = { iss: [issuer.issuer].flat()[0], exp: 4_102_444_800, ...claims }
  const token = sign(JSON.stringify(named), privateKey, { header: { alg: 'RS256', typ: 'at+jwt' }, algorithm: 'RS256' })
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  return reason || (await answer.text())
}

const tid = 't-1'
const organized = { domain, audience, organization: 'org_acme' }
const realm = 'https://sso.example/realms/acme/'

type Case = readonly [title: string, preset: string, claims: object, expected: string]
const { presets: CASES } = readData('corpora/preset-cases.json') as { presets: readonly Case[] }
/** What stands in these presets. */
const NAMES = { ...providers, more, domain, audience }

/** Makes the issuer's options of a case. */
function made(preset: string): IssuerOptions {
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the table is ours
  const make = new Function(...Object.keys(NAMES), `return ${preset}`) as (...args: unknown[]) => IssuerOptions
  return make(...Object.values(NAMES))
}

describe('presets of express-tollgate/providers', () => {
  for (const [title, preset, claims, expected] of CASES) {
    it(title, async () => assert.equal(await outcome(made(preset), claims), expected))
  }

  it('have checkClaims of the app count beside their own', async () => {
    const claims = { aud: audience, sub: 'ada', org_id: 'org_acme' }
    for (const [answer, org_id, expected] of [
      [true, 'org_acme', 'user ada of no app: '],
      [false, 'org_acme', 'claim_check'],
      [true, 'x', 'claim_check'],
    ] as const) {
      const told: string[] = []
      const checkClaims: IssuerOptions['checkClaims'] = ({ sub }, { header }) => {
        told.push(`${String(sub)}, ${String(header.alg)}`)
        return answer
      }
      const issuer = auth0({ ...organized, more: { ...more, checkClaims } })
      assert.equal(await outcome(issuer, { ...claims, org_id }), expected)
      assert.deepEqual(told, org_id === 'x' ? [] : ['ada, RS256'])
    }
    const alone = supabase({ project: 'acme', more: { ...more, checkClaims: () => false } })
    assert.equal(await outcome(alone, { aud: 'authenticated', role: 'authenticated', sub: 'ada' }), 'claim_check')
  })

  it('set no option to undefined, so that an option of the app spread before them stays', () => {
    const all = [
      ...[auth0({ domain, audience }), keycloak({ realm, audience }), supabase({ project: 'acme' }), okta({ domain })],
      ...[firebase({ project: 'acme' }), entra({ tenant: tid, audience }), logto({ domain, audience })],
      clerk({ domain, machine: 'api' }),
    ]
    for (const options of all) assert.ok(!Object.values(options).includes(undefined), inspect(options))
    const { secret } = { secret: 's', ...supabase({ project: 'acme' }) }
    assert.equal(secret, 's')
  })

  it('have keys of the app in place of the provider’s', () => {
    const at = (own: object) => supabase({ project: 'acme', more: own }).jwksUri
    assert.equal(at({}), 'https://acme.supabase.co/auth/v1/.well-known/jwks.json')
    assert.equal(at({ maxTokenAgeSec: 60 }), 'https://acme.supabase.co/auth/v1/.well-known/jwks.json')
    assert.equal(at({ jwksUri: 'https://keys.test' }), 'https://keys.test')
    for (const own of [{ key: publicKey }, { keys: [publicKey] }, { secret: 's' }]) assert.equal(at(own), undefined)
  })

  it('ask an endpoint or a function of the app in place of keys, and check what it says as before', async () => {
    const asked = (said: object) => keycloak({ realm, audience, more: { verify: () => said } })
    const good = { iss: realm.slice(0, -1), aud: audience, sub: 'ada', azp: 'web', sid: 's', typ: 'Bearer' }
    const presets = {
      entra: entra({ tenant: tid, audience, more: { verify: () => undefined } }),
      logto: logto({ domain, audience, more: { verify: () => undefined } }),
      firebase: firebase({ project: 'acme', more: { verify: () => undefined } }),
    }
    for (const preset of Object.values(presets)) assert.ok(requireBearer(preset))
    assert.equal((await requireBearer(asked(good)).check('opaque')).userId, 'ada')
    await assert.rejects(requireBearer(asked({ ...good, typ: 'Refresh' })).check('opaque'), { reason: 'claim_check' })
  })

  it('entra() takes the ids of tenants in capitals, too, as some databases have them', () => {
    assert.equal(entra({ tenant: 'ABC-1', audience }).issuer, 'https://login.microsoftonline.com/abc-1/v2.0')
    assert.deepEqual(entra({ tenants: ['ABC-1', 'abc-2'], audience }).tenants, ['abc-1', 'abc-2'])
  })

  it('say nobody’s session where the claims name nobody', () => {
    const read = (issuer: IssuerOptions, claims: Record<string, unknown>) => issuer.session?.(claims, { header: {} })
    assert.equal(read(auth0({ domain, audience }), {}), undefined)
    assert.equal(read(keycloak({ realm, audience }), {}), undefined)
  })

  it('write the issuer as its tokens have it, whatever the domain is written like', () => {
    for (const written of ['acme.example', 'https://acme.example', 'acme.example/', 'https://acme.example/']) {
      assert.equal(auth0({ domain: written, audience }).issuer, 'https://acme.example/')
    }
    assert.equal(clerk({ domain: 'acme.example/clerk/', machine: 'm' }).issuer, 'https://acme.example/clerk')
    assert.equal(keycloak({ realm, audience }).issuer, 'https://sso.example/realms/acme')
    const { issuer, audience: own } = okta({ domain })
    assert.deepEqual([issuer, own], ['https://acme.example/oauth2/default', 'api://default'])
    const several = entra({ tenants: [tid], audience, version: 1 })
    assert.equal(several.issuer, 'https://sts.windows.net/{tid}/')
    assert.equal(several.jwksUri, 'https://login.microsoftonline.com/common/discovery/keys')
  })
})

// devIssuer({ like }): tokens as a preset accepts them, and what it cannot imitate.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeProtectedHeader } from 'jose'
import express from 'express'
import { type IssuerOptions, requireBearer, sessionOf } from '../../lib'
import * as providers from '../../lib/providers'
import { ATTACKS, devIssuer } from '../../lib/testing'
import { fewRsaKeys } from '../support/generate-keys'
import { serve } from '../support/serve'

const { auth0, clerk, cognito, entra, githubActions, hydra, keycloak, logto, okta } = providers
const audience = 'https://api.acme.example'
const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const domain = 'acme.example'
const realm = 'https://sso.acme.example/realms/acme'
const clients = ['web', 'batch']

/** The answer of an API for a token: status, or whose session it is. */
async function asking(options: IssuerOptions) {
  const app = express().use(requireBearer({ ...options, warnings: false, dialect: 'standard' }))
  app.use((req, res) => {
    const { kind, userId, clientId, scope } = sessionOf(req)
    res.json([kind, userId ?? null, clientId, ...scope])
  })
  const { url } = await serve(app)
  return async (token: string) => {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    return answer.ok ? await answer.json() : answer.status
  }
}

type Preset = readonly [title: string, like: IssuerOptions, userId?: string]
const PRESETS: readonly Preset[] = [
  ['auth0', auth0({ domain, audience })],
  ['auth0 of several audiences', auth0({ domain, audience: [audience, 'https://other.example'] })],
  ['cognito', cognito({ userPoolId: 'eu-west-1_AbCdEfGhI', clients })],
  ['entra', entra({ tenant, audience })],
  ['entra, version 1', entra({ tenant, audience, version: 1 })],
  ['entra of several tenants', entra({ tenants: [tenant, 'other'], audience }), `${tenant}:ada`],
  ['entra in a national cloud', entra({ tenant, audience, cloud: 'us-government' })],
  ['hydra', hydra({ issuer: 'https://acme.projects.oryapis.com', audience })],
  ['keycloak', keycloak({ realm, audience })],
  ['keycloak with roles', keycloak({ realm, audience, roles: 'realm' })],
  ['logto', logto({ domain, audience })],
  ['okta', okta({ domain })],
  ['okta with a type of choice', okta({ domain, more: { typ: 'application/okta+jwt' } })],
  ['a copy of a preset', { ...auth0({ domain, audience }), issuer: 'https://login.acme.example/' }],
]

describe('devIssuer({ like })', () => {
  fewRsaKeys()

  for (const [title, like, userId = 'ada'] of PRESETS) {
    it(`makes tokens of users and machines of ${title}, and attacks that are refused`, async () => {
      const dev = devIssuer({ like, algorithm: like.algorithms ? 'RS256' : 'ES256' }) // RSA keys take long to make
      const ask = await asking(dev.options)
      assert.deepEqual(await ask(dev.token('ada', { clientId: 'web', scope: 'read write' })), [
        'user',
        userId,
        'web',
        'read',
        'write',
      ])
      const batch = ['client', null, 'batch', 'read']
      assert.deepEqual(await ask(dev.token('batch', { kind: 'client', scope: ['read'] })), batch)
      const [kind, id] = (await ask(dev.token('ada'))) as [string, string]
      assert.deepEqual([kind, id], ['user', userId])
      for (const attack of ATTACKS) assert.equal(await ask(dev.attack(attack)), 401, attack)
    })
  }

  it('passes a preset that has its key in more, and another of the same kind refuses its tokens', async () => {
    const facts = { realm, audience: 'tree-api' }
    const dev = devIssuer({ like: keycloak(facts) })
    const more = { key: dev.options.key }
    const of = async (options: typeof facts) => (await asking(keycloak({ ...options, more })))(dev.token('ada'))
    assert.deepEqual(await of(facts), ['user', 'ada', 'dev-app'])
    assert.equal(await of({ ...facts, audience: 'other-api' }), 401)
    assert.equal(await of({ ...facts, realm: `${realm}-2` }), 401)
  })

  it('serves its keys, in place of those of the preset', async (t) => {
    const dev = devIssuer({ like: cognito({ userPoolId: 'eu-west-1_AbCdEfGhI', clients }) })
    const served = await dev.serve()
    t.after(() => served.close())
    const ask = await asking(served.options)
    assert.deepEqual(await ask(dev.token('ada')), ['user', 'ada', 'web'])
    assert.equal(await ask(dev.token('ada', { clientId: 'other' })), 401)
  })

  it('has the type of the provider’s headers', () => {
    const types = [
      cognito({ userPoolId: 'eu-west-1_A', clients }),
      logto({ domain, audience }),
      keycloak({ realm, audience }),
    ]
    assert.deepEqual(
      types.map((like) => decodeProtectedHeader(devIssuer({ like }).token('ada')).typ),
      [undefined, 'at+jwt', 'JWT'],
    )
  })

  it('takes claims of the app for what options of a preset ask for', async () => {
    const dev = devIssuer({ like: auth0({ domain, audience, organization: 'org_acme' }) })
    const ask = await asking(dev.options)
    assert.equal(await ask(dev.token('ada')), 401)
    assert.deepEqual(await ask(dev.token('ada', { claims: { org_id: 'org_acme' } })), ['user', 'ada', 'dev-app'])
  })

  it('takes the name of one tenant where a function knows the tenants', async () => {
    const like = entra({ tenants: (id) => id === tenant, audience })
    assert.throws(() => devIssuer({ like }), {
      name: 'TypeError',
      message: /^devIssuer\(\{ like \}\) needs issuer, .*\{tid\}\/v2\.0' with a tenant in place of the braces/,
    })
    const dev = devIssuer({ like, issuer: `https://login.microsoftonline.com/${tenant}/v2.0` })
    const [, userId] = (await (await asking(dev.options))(dev.token('ada'))) as string[]
    assert.equal(userId, `${tenant}:ada`)
  })

  it('says what to do for options of another preset, or of none', () => {
    for (const [like, received] of [
      [clerk({ domain, authorizedParties: ['https://app.test'] }), 'those of clerk'],
      [githubActions({ audience, subjects: ['s'] }), 'those of githubActions'],
      [{ issuer: 'https://as.test' }, "{ issuer: 'https://as.test' }"],
    ] as const) {
      assert.throws(
        () => devIssuer({ like }),
        (err: Error) =>
          err instanceof TypeError &&
          err.message.includes('one of auth0, cognito, entra, hydra, keycloak, logto, okta; received ' + received) &&
          err.message.includes('give issuer and audience, and the claims to token(who, { claims })'),
      )
    }
    const dev = devIssuer({ like: okta({ domain }) })
    assert.throws(() => dev.token('app', { kind: 'unauthenticated' }), /^TypeError.*kind is 'user' or 'client'/)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { type AuthorizationServerOptions, authorizationServer, clientDirectory } from '../../lib/oauth'
import { listen } from '../support/serve'
import { AS_WEB, USERS, json, post, startServer } from './support'
import { UserAgent } from './user-agent'

const CALLBACK = 'https://norealm.test/cb'
const clients = clientDirectory([
  {
    clientId: 'no-realm',
    name: 'No Realm',
    secret: 'secret',
    requirePkce: false,
    scopes: ['a'],
    redirectUris: [CALLBACK],
  },
  {
    clientId: 'web',
    name: 'Web',
    secret: 'secret',
    grants: ['client_credentials', 'unauthenticated_session'],
    scopes: ['a'],
  },
])

async function start(setting?: string, options: Partial<AuthorizationServerOptions> = {}) {
  const running = await startServer({ clients, ...options })
  if (setting !== undefined) running.app.set('tollgate dialect', setting)
  const authorize = (scope: string) => {
    const request = { response_type: 'code', client_id: 'no-realm', redirect_uri: CALLBACK, state: 's', scope }
    return new UserAgent(running.origin).authorize(running.issuer, request)
  }
  const token = async (form: Record<string, string>, headers = AS_WEB) =>
    json(await post(`${running.issuer}/token`, form, headers))
  const tokenType = async () => (await token({ grant_type: 'client_credentials', scope: 'a' })).token_type
  return { authorize, token, tokenType }
}

describe("authorizationServer() by app.set('tollgate dialect')", () => {
  it('familysearch, the default: needs a realm, shows terms, and names its own token_type', async () => {
    for (const setting of [undefined, 'familysearch']) {
      const { authorize, tokenType } = await start(setting)
      const refused = await authorize('openid')
      assert.equal(refused.params.get('error'), 'invalid_request')
      assert.match(
        refused.params.get('error_description') ?? '',
        /^A validation exception occurred: client registration is required .* realm .* added through developer support/,
      )
      assert.equal((await (await authorize('')).logIn()).title, 'Terms of access')
      assert.equal(await tokenType(), 'family_search')
    }
  })

  it('standard: needs no realm, shows no terms, and token_type is Bearer', async () => {
    const { authorize, token, tokenType } = await start('standard')
    assert.equal((await authorize('')).params.get('error'), 'invalid_scope', 'a request needs a scope, or the app one')
    for (const scope of ['openid email', 'a']) {
      const { params } = await (await authorize(scope)).logIn()
      assert.equal(params.get('state'), 's')
      const code = params.get('code') ?? ''
      const basic = { authorization: `Basic ${Buffer.from('no-realm:secret').toString('base64')}` }
      const tokens = await token({ grant_type: 'authorization_code', code, redirect_uri: CALLBACK }, basic)
      assert.equal(tokens.token_type, 'Bearer')
      assert.equal('id_token' in tokens, scope !== 'a')
    }
    assert.equal(await tokenType(), 'Bearer')
    const session = await token({ grant_type: 'unauthenticated_session', ip_address: '192.0.2.1' })
    assert.equal(session.token_type, 'Bearer')
  })

  it('yields to the options dialect, tokenType and pages.terms', async () => {
    const service = await start('standard', { dialect: 'familysearch' })
    assert.equal(await service.tokenType(), 'family_search')
    assert.equal((await service.authorize('openid')).params.get('error'), 'invalid_request')
    const pages = { terms: { version: '1', paragraphs: ['Be kind.'] } }
    const standard = await start(undefined, { dialect: 'standard', tokenType: 'custom', pages })
    assert.equal(await standard.tokenType(), 'custom')
    assert.match((await (await standard.authorize('openid')).logIn()).text, /Be kind\./)
  })

  it('a wrong value goes to the error handler of the app', async (t) => {
    const app = express()
    app.set('tollgate dialect', 'Standard')
    app.use(authorizationServer({ issuer: 'http://localhost:1', clients, users: USERS }))
    app.use(((err: Error, _req, res, next) => {
      if (res.headersSent) return next(err)
      res.status(500).end(err.message)
    }) as express.ErrorRequestHandler)
    const { get, close } = await listen(app)
    t.after(close)
    const { status, body } = await get('/.well-known/openid-configuration')
    assert.equal(status, 500)
    assert.match(
      body,
      /^app\.get\('tollgate dialect'\) must be 'familysearch' or 'standard'; received 'Standard' \(express-tollgate\/docs\/troubleshooting\.md#tollgate_option\)$/,
    )
  })
})

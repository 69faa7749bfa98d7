import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import serverlessExpress from '@codegenie/serverless-express'
import type { Express } from 'express'
import serverless from 'serverless-http'
import { manualClock } from '../../lib/testing'
import { type KeyHolder, ath, keyHolder } from './key-holder'
import { AS_WEB, type Form, serverOfSuite } from './support'
import { codeForm } from './user-agent'

type Handler = (event: object, context: object) => Promise<{ statusCode: number; body: string }>
const codegenie = serverlessExpress as unknown as (options: { app: Express }) => Handler
const ADAPTERS: [name: string, handlerOf: (app: Express) => Handler][] = [
  ['serverless-http', serverless as unknown as (app: Express) => Handler],
  ['@codegenie/serverless-express', (app) => codegenie({ app })],
]
const clock = manualClock()
const CLIENT_CREDENTIALS = { grant_type: 'client_credentials' }

for (const [name, handlerOf] of ADAPTERS) {
  describe(`authorizationServer() behind ${name}`, () => {
    const running = serverOfSuite({ clock, registration: { accept: () => ({}) } })
    let ada: KeyHolder
    let handler: Handler
    before(async () => {
      ada = await keyHolder(clock)
      handler = handlerOf(running.app)
    })

    /** Sends a request as an event of API Gateway (payload 2.0). */
    const invoke = async (method: string, path: string, headers: Form, body?: string) => {
      const at = new URL(running.issuer + path)
      const http = { method, path: at.pathname, sourceIp: '203.0.113.9', protocol: 'HTTP/1.1' }
      const { statusCode, body: text } = await handler(
        {
          ...{ version: '2.0', routeKey: '$default', rawPath: at.pathname, rawQueryString: '', isBase64Encoded: false },
          ...{ requestContext: { stage: '$default', timeEpoch: 1, domainName: at.host, http } },
          ...{ headers: { host: at.host, ...headers }, body },
        },
        {},
      )
      const members = JSON.parse(text || '{}') as Partial<Record<string, string>>
      return Object.assign(members, { status: statusCode })
    }
    const token = (form: Form, headers: Form = {}) =>
      invoke(
        'POST',
        '/token',
        { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        new URLSearchParams(form).toString(),
      )
    const get = (path: string, authorization: string, dpop?: string) =>
      invoke('GET', path, { authorization, ...(dpop !== undefined && { dpop }) })

    it('authenticates a client by Basic at the token endpoint', async () => {
      assert.equal((await token(CLIENT_CREDENTIALS, AS_WEB)).status, 200)
      const wrong = `Basic ${Buffer.from('web:guess').toString('base64')}`
      for (const headers of [{}, { authorization: wrong }, { authorization: `${wrong},${AS_WEB.authorization}` }]) {
        assert.deepEqual((await token(CLIENT_CREDENTIALS, headers)).error, 'invalid_client')
      }
    })

    it('binds a token to the key of a DPoP proof, and userinfo asks for the next proof', async () => {
      const url = (path: string) => running.issuer + path
      const form = await codeForm(running.issuer)
      const bad = await token(form, { ...AS_WEB, dpop: await ada.proof(url('/userinfo')) })
      assert.equal(bad.error, 'invalid_dpop_proof')
      const good = await token(form, { ...AS_WEB, dpop: await ada.proof(url('/token')) })
      assert.deepEqual([good.status, good.token_type], [200, 'DPoP'])
      const { access_token: bound = '' } = good
      const proof = await ada.proof(url('/userinfo'), { ath: ath(bound) }, 'GET')
      const shown = await get('/userinfo', `DPoP ${bound}`, proof)
      assert.deepEqual([shown.status, shown.sub], [200, 'KWC6-X7D'])
      for (const [field, replayed] of [[`DPoP ${bound}`, proof], [`DPoP ${bound}`], [`Bearer ${bound}`]] as const) {
        assert.equal((await get('/userinfo', field, replayed)).status, 401)
      }
    })

    it('registers an app, and shows its registration for its own token', async () => {
      const metadata = JSON.stringify({ redirect_uris: ['http://localhost:3334/cb'] })
      const app = await invoke('POST', '/register', { 'content-type': 'application/json' }, metadata)
      assert.equal(app.status, 201)
      const { client_id: id = '', registration_access_token: own = '' } = app
      assert.equal((await get(`/register/${id}`, `Bearer ${own}`)).client_id, id)
      assert.equal((await get(`/register/${id}`, `Bearer ${own}x`)).status, 401)
      assert.equal((await get(`/register/${id}`, `Bearer ${own},Bearer ${own}`)).status, 400)
    })
  })
}

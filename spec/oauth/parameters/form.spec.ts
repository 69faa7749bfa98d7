import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RequestHandler } from 'express'
import { EXPRESS_VERSIONS } from '../../support/express-versions'
import { AS_WEB, type Form, type RunningServer, json, post, startServer } from '../support'
import { UserAgent, request, tokensFor } from '../user-agent'

const every = { type: () => true }

for (const [version, express] of EXPRESS_VERSIONS) {
  for (const [name, parser] of [
    ['express.text()', express.text(every)],
    ['express.raw()', express.raw(every)],
    [
      'express.urlencoded() and express.json()',
      [express.urlencoded({ extended: true }), express.json({ strict: false })],
    ],
    [
      'express.text() for one type, express.raw() for the other',
      [express.text({ type: 'application/x-www-form-urlencoded' }), express.raw({ type: 'application/json' })],
    ],
  ] as const) {
    describe(`a body that ${name} of ${version} has read`, () => {
      const started = async (): Promise<RunningServer> => {
        const read: RequestHandler = (req, res, next) => {
          const [first, second] = [parser].flat() as RequestHandler[]
          void first?.(req, res, (err?: unknown) => {
            if (err !== undefined || !second) next(err)
            else void second(req, res, next)
          })
        }
        return startServer({ registration: { accept: () => ({}) } }, read)
      }

      it('signs a user in: pages, tokens, userinfo, introspection, revocation, logout', async () => {
        const { issuer } = await started()
        const tokens = await tokensFor(issuer)
        const token = tokens.access_token
        assert.equal((await json(await post(`${issuer}/userinfo`, { access_token: token }))).sub, 'KWC6-X7D')
        const isActive = async () => (await json(await post(`${issuer}/introspect`, { token }, AS_WEB))).active
        assert.equal(await isActive(), true)
        assert.equal((await post(`${issuer}/revoke`, { token }, AS_WEB)).status, 200)
        assert.equal(await isActive(), false)
        const out = await new UserAgent(issuer).request(`${issuer}/logout`, {
          method: 'POST',
          body: new URLSearchParams(),
        })
        assert.equal(out.title, 'You are signed out')
      })

      it('pushes a request, with every character of its state', async () => {
        const { issuer } = await started()
        const state = `ä\u{1F511}+%&="'`
        const { request_uri: uri } = await json(await post(`${issuer}/par`, request({ state }), AS_WEB))
        const page = await new UserAgent(issuer).authorize(issuer, { client_id: 'web', request_uri: uri as string })
        assert.equal((await (await page.logIn()).finish()).params.get('state'), state)
      })

      it('registers an app, and replaces its registration', async () => {
        const { issuer } = await started()
        const headers: Form = { 'content-type': 'application/json' }
        const send = async (url: string, method: string, body: object, more: Form = {}) =>
          json(await fetch(url, { method, headers: { ...headers, ...more }, body: JSON.stringify(body) }))
        const metadata = { client_name: 'Ä \u{1F511}', redirect_uris: ['https://a.test/cb'] }
        const app = await send(`${issuer}/register`, 'POST', metadata)
        assert.equal(app.client_name, metadata.client_name)
        const own = { authorization: `Bearer ${app.registration_access_token as string}` }
        const url = app.registration_client_uri as string
        const changed = await send(url, 'PUT', { ...metadata, client_id: app.client_id, client_name: 'B' }, own)
        assert.equal(changed.client_name, 'B')
      })

      it('is as strict: repeated parameters, another type, nothing, too much, and no JSON object are 4xx', async () => {
        const { issuer } = await started()
        const send = async (path: string, type: string, body: string) => {
          const headers = { ...AS_WEB, 'content-type': type }
          const response = await fetch(issuer + path, { method: 'POST', headers, body })
          return [response.status, (await json(response)).error]
        }
        const form = 'application/x-www-form-urlencoded'
        const grant = 'grant_type=client_credentials'
        for (const more of [grant, 'grant_type[]=x', 'grant_type[a]=x', 'scope[a]=x'])
          assert.deepEqual(await send('/token', form, `${grant}&${more}`), [400, 'invalid_request'], more)
        assert.deepEqual(await send('/token', 'application/json', '{"grant_type":"client_credentials"}'), [
          400,
          'invalid_request',
        ])
        assert.deepEqual(await send('/token', form, ''), [400, 'invalid_request'])
        assert.deepEqual(await send('/register', form, '{"redirect_uris":["https://a.test/cb"]}'), [
          400,
          'invalid_request',
        ])
        assert.equal((await send('/token', form, `code=${'a'.repeat(70_000)}`))[1], 'invalid_request')
        for (const body of ['[]', '""', '7', 'null'])
          assert.equal((await send('/register', 'application/json', body))[0], 400, body)
      })
    })
  }
}

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import { allowUnauthenticated, requireBearer, sessionOf } from '../../lib'
import { type AuthorizationServer, authorizationServer, clientDirectory, redisOAuthStore } from '../../lib/oauth'
import { answering } from '../support/answering'
import { type CutWire, cutWire } from '../support/cut-wire'
import { type Listening, listen } from '../support/serve'
import { type Server, startRedis } from '../support/redis'
import { AS_WEB, CLIENTS, type Form, type RunningServer, SIGNING_KEY, USERS, json, post, openServer } from './support'
import { codeForm } from './user-agent'
import { assertIs, atLeast } from '../support/until'

const ISSUER = 'https://ident.test/oauth'

for (const format of ['jwt', 'opaque'] as const) {
  describe(`requireBearer({ verify }) with ${format} tokens, by an instance of its own over the same Redis`, () => {
    let redis: Server
    let wire: CutWire
    let running: RunningServer
    let api: Listening
    let here: AuthorizationServer
    const stores: { close(): void }[] = []
    const shared = { issuer: ISSUER, clients: clientDirectory(CLIENTS), users: USERS, accessTokens: { format } }
    before(async () => {
      redis = await startRedis()
      wire = await cutWire(redis.port)
      const [theirs, ours] = [redis.port, wire.port].map((port) => redisOAuthStore(`redis://127.0.0.1:${port}`))
      assert.ok(theirs && ours)
      await Promise.all([answering(theirs), answering(ours)])
      stores.push(theirs, ours)
      running = await openServer({ ...shared, store: theirs })
      // Not mounted: it only looks tokens up, by a connection of its own.
      here = authorizationServer({ ...shared, store: ours, signingKeys: [{ key: SIGNING_KEY }] })
      const app = express()
      app.use(allowUnauthenticated({ paths: ['/places'] }))
      app.use(requireBearer({ issuer: ISSUER, audience: ISSUER, verify: here.verify }))
      app.get(/.*/, (req, res) => {
        const session = sessionOf(req)
        const { kind, clientId, scope } = session
        res.json({ kind, clientId, scope, userId: session.kind === 'user' ? session.userId : null })
      })
      api = await listen(app)
    })
    after(async () => {
      stores.forEach((store) => store.close())
      await api.close()
      await running.close()
      await wire.cut()
      await redis.stop()
    })

    const endpoint = (name: string) => `${running.origin}/oauth/${name}`
    const ask = (token: unknown, path = '/') => api.get(path, { authorization: `Bearer ${String(token)}` })
    const userTokens = async () =>
      json(await post(endpoint('token'), await codeForm(endpoint('').slice(0, -1)), AS_WEB)) as Promise<Form>

    it('says who asks: a user, a service account, an app with nobody signed in', async () => {
      const { access_token: user } = await userTokens()
      assert.deepEqual(JSON.parse((await ask(user)).body), {
        ...{ kind: 'user', clientId: 'web', scope: ['openid'], userId: 'KWC6-X7D' },
      })
      const service = await json(await post(endpoint('token'), { grant_type: 'client_credentials' }, AS_WEB))
      assert.equal((JSON.parse((await ask(service.access_token)).body) as { kind: string }).kind, 'client')
      const form = { grant_type: 'unauthenticated_session', client_id: 'spa', ip_address: '192.0.2.1' }
      const nobody = (await json(await post(endpoint('token'), form))).access_token
      assert.equal((await ask(nobody, '/tree')).status, 403)
      assert.equal((await ask(nobody, '/places')).status, 200)
    })

    it('refuses a revoked token at its next request, and anything that never was a token', async () => {
      const { access_token: token, refresh_token: refresh = '' } = await userTokens()
      assert.equal((await ask(token)).status, 200)
      await post(endpoint('revoke'), { token: token ?? '' }, AS_WEB)
      const refused = await ask(token)
      assert.equal(refused.status, 401)
      assert.match(refused.headers.get('www-authenticate') ?? '', /error="invalid_token"/)
      const again = await json(
        await post(endpoint('token'), { grant_type: 'refresh_token', refresh_token: refresh }, AS_WEB),
      )
      assert.equal((await ask(again.access_token)).status, 200)
      await post(endpoint('revoke'), { token: again.refresh_token as string }, AS_WEB)
      assert.equal((await ask(again.access_token)).status, 401, 'with all of its authorization')
      for (const nonsense of ['x', 'a.b.c', 'A'.repeat(43), refresh]) assert.equal((await ask(nonsense)).status, 401)
    })

    it('while the store is away answers 503 with Retry-After, never 401, and goes on by itself', async () => {
      const { access_token: token } = await userTokens()
      await wire.cut()
      const away = await ask(token)
      assert.equal(away.status, 503)
      assertIs(away.number('Retry-After'), atLeast(1))
      await wire.mend()
      let status = 503
      while (status === 503) status = (await ask(token)).status
      assert.equal(status, 200)
    })
  })
}

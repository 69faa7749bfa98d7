import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { manualClock } from '../../lib/testing'
import { AS_WEB, type Form, type RunningServer, json, post, startServer } from './support'
import { codeForm } from './user-agent'

describe('the refresh token grant', () => {
  const clock = manualClock()
  let running: RunningServer
  before(async () => {
    running = await startServer({ clock })
  })
  after(() => running.close())

  const first = async () =>
    json(
      await post(
        `${running.issuer}/token`,
        await codeForm(running.issuer, { scope: 'openid email tree.read' }),
        AS_WEB,
      ),
    )
  const refresh = (token: unknown, more: Form = {}, headers: Form = AS_WEB) =>
    post(`${running.issuer}/token`, { grant_type: 'refresh_token', refresh_token: token as string, ...more }, headers)

  it('RFC 6749 §6: gives fresh tokens and another refresh token', async () => {
    const before = await first()
    clock.advance(600_000)
    const response = await refresh(before.refresh_token)
    assert.equal(response.status, 200)
    const after = await json(response)
    assert.notEqual(after.access_token, before.access_token)
    assert.notEqual(after.refresh_token, before.refresh_token)
    assert.equal(after.scope, 'openid email tree.read')
    const [was, is] = [decodeJwt(before.id_token as string), decodeJwt(after.id_token as string)]
    assert.equal(is.auth_time, was.auth_time) // OIDC Core §12.2
    assert.equal(is.sub, was.sub)
    assert.equal('nonce' in is, false)
    assert.equal((is.iat ?? 0) - (was.iat ?? 0), 600)
  })

  it('RFC 6749 §6: the scope may be narrowed for one token, and never widened', async () => {
    const { refresh_token: token } = await first()
    const wider = await refresh(token, { scope: 'openid tree.write' })
    assert.equal((await json(wider)).error, 'invalid_scope')
    const narrow = await json(await refresh(token, { scope: 'tree.read' }))
    assert.equal(narrow.scope, 'tree.read')
    assert.equal('id_token' in narrow, false)
    const again = await json(await refresh(narrow.refresh_token))
    assert.equal(again.scope, 'openid email tree.read')
  })

  it('RFC 9700 §4.14.2: reuse after the grace revokes the whole family', async () => {
    const one = await first()
    const two = await json(await refresh(one.refresh_token))
    const three = await json(await refresh(two.refresh_token))
    clock.advance(10_001)
    const reused = await refresh(one.refresh_token)
    assert.equal(reused.status, 400)
    assert.equal((await json(reused)).error, 'invalid_grant')
    assert.equal((await json(await refresh(three.refresh_token))).error, 'invalid_grant')
    for (const { access_token: token } of [one, two, three])
      assert.equal(await running.server.verify(token as string), undefined)
  })

  it('lets a client whose response was lost ask again within ten seconds', async () => {
    const one = await first()
    await refresh(one.refresh_token) // this response is lost
    clock.advance(9_000)
    const again = await json(await refresh(one.refresh_token))
    assert.equal(typeof again.refresh_token, 'string')
    clock.advance(60_000)
    assert.equal((await refresh(again.refresh_token)).status, 200)
  })

  it('gives many at once, of one lost response or of a race, tokens of one generation only (O139)', async () => {
    const one = await first()
    const all = await Promise.all(Array.from({ length: 10 }, async () => json(await refresh(one.refresh_token))))
    assert.ok(all.every(({ refresh_token: token }) => typeof token === 'string'))
    assert.equal((await refresh(all[0]?.refresh_token)).status, 200)
    clock.advance(10_001)
    assert.equal((await json(await refresh(all[1]?.refresh_token))).error, 'invalid_grant')
    assert.equal(await running.server.verify(all[0]?.access_token as string), undefined)
  })

  it('RFC 6749 §10.4: is bound to its client; a stranger spends and revokes nothing', async () => {
    const { refresh_token: token } = await first()
    assert.equal((await json(await refresh(token, { client_id: 'spa' }, {}))).error, 'unauthorized_client')
    assert.equal((await refresh(token)).status, 200)
  })

  it('ends when it is not used for thirty days', async () => {
    const one = await first()
    clock.advance(29 * 86_400_000)
    const two = await json(await refresh(one.refresh_token))
    assert.equal(typeof two.refresh_token, 'string')
    clock.advance(30 * 86_400_000)
    assert.equal((await json(await refresh(two.refresh_token))).error, 'invalid_grant')
  })

  it('refuses what is no refresh token', async () => {
    const { access_token: access } = await first()
    for (const token of ['nonsense', access, '__proto__'])
      assert.equal((await json(await refresh(token))).error, 'invalid_grant')
    assert.equal((await json(await refresh(''))).error, 'invalid_request')
  })
})

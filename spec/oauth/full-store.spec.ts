import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { AS_WEB, json, post, startServer } from './support'
import { codeForm } from './user-agent'

describe('a memory store that unauthenticated sessions have filled', () => {
  it('still lets users sign in, refresh and sign out, and takes such sessions again once the old ones expired', async () => {
    const clock = manualClock()
    const store = memoryStore({ clock, maxEntries: 200 })
    const running = await startServer({ clock, store, accessTokens: { format: 'opaque' } })
    const unauthenticated = () =>
      post(`${running.issuer}/token`, {
        grant_type: 'unauthenticated_session',
        client_id: 'spa',
        ip_address: '192.0.2.1',
      })
    const statuses: number[] = []
    for (let i = 0; i < 120; i++) statuses.push((await unauthenticated()).status)
    assert.deepEqual([...new Set(statuses)], [200, 503])
    assert.equal(statuses.filter((status) => status === 200).length, 100, 'half of the store')

    const tokens = await json(await post(`${running.issuer}/token`, await codeForm(running.issuer), AS_WEB))
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string }
    assert.equal((await post(`${running.issuer}/token`, form, AS_WEB)).status, 200)
    const headers = { authorization: `Bearer ${tokens.access_token as string}` }
    assert.equal((await post(`${running.origin}/platform/logout`, {}, headers)).status, 204)
    assert.equal(await running.server.verify(tokens.access_token as string), undefined)

    clock.advance(3_600_000)
    const later = await unauthenticated()
    assert.equal(later.status, 200)
    const { access_token: token } = await json(later)
    assert.equal((await running.server.verify(token as string))?.session_kind, 'unauthenticated')
    await running.close()
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryOAuthStore } from '../../lib/oauth'
import { recordProofs } from '../../lib/oauth/client-auth/dpop-proof'
import { Records } from '../../lib/oauth/records/records'
import { manualClock } from '../../lib/testing'
import { keyHolder } from './key-holder'
import { AS_WEB, type RunningServer, json, post, startServer } from './support'
import { UserAgent, codeForm, request } from './user-agent'

const unauthenticated = { grant_type: 'unauthenticated_session', client_id: 'spa', ip_address: '192.0.2.1' }
const clock = manualClock()

/** Records that strangers can create, one with each call. */
const STRANGERS: Readonly<Record<string, (issuer: string) => Promise<Response>>> = {
  'unauthenticated sessions': (issuer) => post(`${issuer}/token`, unauthenticated),
  'pushed requests': (issuer) =>
    post(`${issuer}/par`, request({ client_id: 'spa', redirect_uri: 'https://spa.test/cb' })),
}

describe("a memoryOAuthStore() full of strangers' records", () => {
  for (const [what, add] of Object.entries(STRANGERS)) {
    it(`with ${what}: users sign in, refresh and sign out`, async (t) => {
      const store = memoryOAuthStore({ clock, maxBytes: 200_000 })
      const registration = { accept: () => ({}), perAddress: 1_000 }
      const running = await startServer({ clock, store, registration, accessTokens: { format: 'opaque' } })
      t.after(() => running.close())
      await fill(() => add(running.issuer))
      await assertUsersSignIn(running)
      clock.advance(24 * 3_600_000)
      assert.ok((await add(running.issuer)).ok)
    })
  }

  it('with apps that registered themselves: users sign in, and the app that was used longest ago makes way', async (t) => {
    const registration = { accept: () => ({}), perAddress: 1_000 }
    const running = await startServer({ clock, store: memoryOAuthStore({ clock, maxBytes: 200_000 }), registration })
    t.after(() => running.close())
    const uris = Array.from({ length: 110 }, (_, i) => `https://app${i}.test/cb`)
    const ids: string[] = []
    for (const uri of uris) {
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ redirect_uris: [uri] })
      const response = await fetch(`${running.issuer}/register`, { method: 'POST', headers, body })
      assert.equal(response.status, 201)
      ids.push((await json(response)).client_id as string)
    }
    const isKnown = async (at: number) => {
      const asked = request({ client_id: ids[at] as string, redirect_uri: uris[at] as string })
      return (await new UserAgent(running.issuer).authorize(running.issuer, asked)).status === 200
    }
    assert.deepEqual([await isKnown(0), await isKnown(9), await isKnown(109)], [false, false, true])
    await assertUsersSignIn(running)
  })

  it('with proofs of their keys: users sign in, refresh and sign out', async (t) => {
    const running = await startServer({ clock, store: memoryOAuthStore({ clock, maxBytes: 200_000 }) })
    t.after(() => running.close())
    const holder = await keyHolder(clock)
    const url = `${running.issuer}/token`
    const add = async () => {
      clock.advance(7)
      return post(url, unauthenticated, { dpop: await holder.proof(url) })
    }
    await fill(add)
    await assertUsersSignIn(running)
    clock.advance(150_000)
    assert.ok((await add()).ok)
  })

  it('recordProofs() keeps proofs of all ages for a few lifetimes, none shorter than a proof may be used', async () => {
    const lifetimes = new Set<number>()
    let shortestMs = 0
    const store = memoryOAuthStore({ clock })
    const proofs = recordProofs(
      new Records({
        ...store,
        count: (key, by, windowMs) => {
          lifetimes.add(windowMs)
          assert.ok(windowMs >= shortestMs)
          return store.count(key, by, windowMs)
        },
      }),
    )
    for (let ms = 1; ms < 120_000; ms += 37) {
      shortestMs = ms
      assert.equal(await proofs.note(`proof ${ms}`, 1_000 + ms / 1_000, 1_000, 'jkt'), 'new')
    }
    assert.ok(lifetimes.size <= 4, `${lifetimes.size} lifetimes`)
  })
})

/** Strangers cause records of twice their half. The oldest make way, and nothing is refused. */
async function fill(add: () => Promise<Response>): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const response = await add()
    assert.ok(response.ok, `${i}: ${response.status}`)
  }
}

async function assertUsersSignIn({ issuer, origin, server }: RunningServer): Promise<void> {
  const tokens = await json(await post(`${issuer}/token`, await codeForm(issuer), AS_WEB))
  const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string }
  assert.equal((await post(`${issuer}/token`, form, AS_WEB)).status, 200)
  const headers = { authorization: `Bearer ${tokens.access_token as string}` }
  assert.equal((await post(`${origin}/platform/logout`, {}, headers)).status, 204)
  assert.equal(await server.verify(tokens.access_token as string), undefined)
}

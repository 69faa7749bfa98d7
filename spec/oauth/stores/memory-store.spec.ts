import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { manualClock } from '../../../lib/testing'
import { memoryOAuthStore } from '../../../lib/oauth'
import { recordProofs } from '../../../lib/oauth/client-auth/dpop-proof'
import { Records } from '../../../lib/oauth/records/records'
import { keyHolder } from '../key-holder'
import { type RunningServer, json, post, postJson, refresh, startServer } from '../support'
import { UserAgent, request, tokensFor } from '../user-agent'
import { storeContract } from './store-contract'
import { assertIs, atLeast, atMost, below, above } from '../../support/until'

describe('memoryOAuthStore()', () => {
  const clock = manualClock()
  const store = memoryOAuthStore({ clock })
  storeContract(() => ({ store, pass: (ms) => Promise.resolve(clock.advance(ms)) }))

  it('refuses new entries when full, and keeps all old ones', async () => {
    const clock = manualClock()
    const small = memoryOAuthStore({ clock, maxBytes: 10_000 })
    await small.set('a', 'x'.repeat(4_000), 100)
    await small.set('b', 'x'.repeat(4_600), 1_000)
    await assert.rejects(small.set('c', '3', 1_000), /memoryOAuthStore is full/)
    await assert.rejects(small.count('d', 1, 1_000), /memoryOAuthStore is full/)
    await assert.rejects(small.set('a', 'x'.repeat(4_700), 100), /memoryOAuthStore is full: \d+ of 10000 bytes/)
    assert.equal(await small.get('a'), 'x'.repeat(4_000))
    await small.set('a', 'x'.repeat(4_001), 100)
    clock.advance(100)
    await small.set('c', '3', 1_000)
    assert.equal(await small.get('c'), '3')
  })

  it('lets the oldest record of the heaviest owner make way, by bytes, and none without an owner', async () => {
    const store = memoryOAuthStore({ clock, maxBytes: 200_000 })
    await store.set('own', 'x'.repeat(99_000), 60_000)
    await store.set('honest', 'x', 60_000, '203.0.0.0/16')
    await store.set('old', 'x', 60_000, '198.51.0.0/16')
    const isKept = async (key: string) => (await store.get(key)) !== undefined
    for (let i = 0; i < 1_000; i++) await store.set(`few:${i}`, '\u20ac'.repeat(100), 60_000, '198.51.0.0/16')
    assert.deepEqual([await isKept('own'), await isKept('honest'), await isKept('old')], [true, true, false])
    const few = (await Promise.all(Array.from({ length: 1_000 }, (_, i) => isKept(`few:${i}`)))).lastIndexOf(false)
    assertIs(few, above(830), `${999 - few} of the newest are kept`)
    assertIs(few, below(880), `${999 - few} of the newest are kept`) // of about 690 bytes each
    for (let i = 0; i < 20; i++) await store.set(`large:${i}`, 'x'.repeat(16_000), 60_000, '2001:db8::/32')
    const large = await Promise.all(Array.from({ length: 20 }, (_, i) => isKept(`large:${i}`)))
    assert.ok(large.filter(Boolean).length <= 5 && large[19] === true)
    assert.equal(await isKept('honest'), true)
    await store.set('own-2', 'x'.repeat(98_500), 60_000) // those of owners make way for a revocation
    assert.deepEqual([await isKept('own'), await isKept('own-2')], [true, true])
    await assert.rejects(store.set('own-3', 'x'.repeat(10_000), 60_000), /is full/)
  })

  it('drops expired entries as it takes new ones, so it stops growing', async () => {
    const clock = manualClock()
    const store = memoryOAuthStore({ clock, maxBytes: 200_000 })
    for (let i = 0; i < 10_000; i++) {
      await store.set(`k:${i}`, 'v', 100 + (i % 3) * 50)
      if (i % 3 === 0) await store.get(`k:${i}`, 300)
      if (i % 7 === 0) await store.claim(`k:${i}`, i % 2 === 0 ? 0 : 200)
      await store.count(`c:${i % 40}`, 1, 100)
      clock.advance(1)
    }
    assert.equal(await store.get('k:9999'), 'v')
    assert.equal(await store.get('k:8000'), undefined)
  })
})

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
    it(`with ${what}: users sign in, refresh and sign out`, async () => {
      const store = memoryOAuthStore({ clock, maxBytes: 100_000 })
      const registration = { accept: () => ({}), perAddress: 1_000 }
      const running = await startServer({ clock, store, registration, accessTokens: { format: 'opaque' } })
      await fill(() => add(running.issuer))
      await assertUsersSignIn(running)
      clock.advance(24 * 3_600_000)
      assert.ok((await add(running.issuer)).ok)
    })
  }

  it('with apps that registered themselves: users sign in, and the app that was used longest ago makes way', async () => {
    const registration = { accept: () => ({}), perAddress: 1_000 }
    const running = await startServer({ clock, store: memoryOAuthStore({ clock, maxBytes: 50_000 }), registration })
    const uris = Array.from({ length: 60 }, (_, i) => `https://app${i}.test/cb`)
    const ids: string[] = []
    for (const uri of uris) {
      const response = await postJson(`${running.issuer}/register`, { redirect_uris: [uri] })
      assert.equal(response.status, 201)
      ids.push((await json(response)).client_id as string)
    }
    const isKnown = async (at: number) => {
      const asked = request({ client_id: ids[at] as string, redirect_uri: uris[at] as string })
      return (await new UserAgent(running.issuer).authorize(running.issuer, asked)).status === 200
    }
    assert.deepEqual([await isKnown(0), await isKnown(9), await isKnown(59)], [false, false, true])
    await assertUsersSignIn(running)
  })

  it('with proofs of their keys: users sign in, refresh and sign out', async () => {
    const running = await startServer({ clock, store: memoryOAuthStore({ clock, maxBytes: 100_000 }) })
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
          if (key.includes('proof ')) assertIs(windowMs, atLeast(shortestMs)) // not the owner's counter
          return store.count(key, by, windowMs)
        },
      }),
    )
    for (let ms = 1; ms < 120_000; ms += 37) {
      shortestMs = ms
      assert.equal(await proofs.note(`proof ${ms}`, 1_000 + ms / 1_000, 1_000, 'jkt'), 'new')
    }
    assertIs(lifetimes.size, atMost(4), `${lifetimes.size} lifetimes`)
  })
})

/** Strangers cause records of twice their half. The oldest make way, and nothing is refused. */
async function fill(add: () => Promise<Response>): Promise<void> {
  for (let i = 0; i < 150; i++) {
    const response = await add()
    assert.ok(response.ok, `${i}: ${response.status}`)
  }
}

async function assertUsersSignIn({ issuer, origin, server }: RunningServer): Promise<void> {
  const tokens = await tokensFor(issuer)
  assert.equal((await refresh(issuer, tokens.refresh_token)).status, 200)
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  assert.equal((await post(`${origin}/platform/logout`, {}, headers)).status, 204)
  assert.equal(await server.verify(tokens.access_token), undefined)
}

import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { OAuthStore } from '../../../lib/oauth/stores/store'
import { assertIs, atLeast, atMost, below, above } from '../../support/until'

export interface StoreUnderTest {
  readonly store: OAuthStore
  /** Lets the store's own time pass. */
  pass(ms: number): Promise<void>
}

/** What every store must do. */
export function storeContract(under: () => StoreUnderTest): void {
  let n = 0
  const fresh = () => `contract:${n++}`
  const store = () => under().store

  it('gives back what was set, byte for byte', async () => {
    for (const value of ['', 'a:b', '0:1', '{"a":"\\u2028 ☕ \n"}', 'x'.repeat(100_000)]) {
      const key = fresh()
      await store().set(key, value, 60_000)
      assert.equal(await store().get(key), value)
    }
    assert.equal(await store().get(fresh()), undefined)
  })

  it('replaces what was there, claim and all', async () => {
    const key = fresh()
    await store().set(key, 'one', 60_000)
    await store().claim(key, 60_000)
    await store().set(key, 'two', 60_000)
    assert.equal(await store().get(key), 'two')
    assert.deepEqual(await store().claim(key, 60_000), { value: 'two', first: true, agoMs: 0 })
  })

  it('forgets when the time is up', async () => {
    const key = fresh()
    await store().set(key, 'gone soon', 20)
    await under().pass(60)
    assert.equal(await store().get(key), undefined)
    assert.equal(await store().claim(key, 60_000), undefined)
  })

  it('lets an idle time slide with each look, and revives nothing', async () => {
    const key = fresh()
    await store().set(key, 'kept', 1_500)
    assert.equal(await store().get(key, 60_000), 'kept')
    await under().pass(1_550)
    assert.equal(await store().get(key, 20), 'kept')
    await under().pass(60)
    assert.equal(await store().get(key, 60_000), undefined)
    assert.equal(await store().get(key), undefined)
  })

  it('lets exactly one of many claims be the first', async () => {
    const key = fresh()
    await store().set(key, 'once', 60_000)
    const claims = await Promise.all(Array.from({ length: 100 }, () => store().claim(key, 60_000)))
    assert.equal(claims.filter((claim) => claim?.first).length, 1)
    assert.ok(claims.every((claim) => claim?.value === 'once'))
  })

  it('tells a later claim how long ago the first was, and still shows the value', async () => {
    const key = fresh()
    await store().set(key, 'once', 60_000)
    await store().claim(key, 60_000)
    await under().pass(50)
    const again = await store().claim(key, 60_000)
    assert.equal(again?.first, false)
    assertIs(again.agoMs, atLeast(45))
    assertIs(again.agoMs, below(5_000))
    assert.equal(await store().get(key), 'once')
  })

  it('keeps a claimed entry for as long as the claim said, or not at all', async () => {
    const [kept, dropped] = [fresh(), fresh()]
    await store().set(kept, 'v', 60_000)
    await store().claim(kept, 40)
    await under().pass(60)
    assert.equal(await store().get(kept), undefined)
    await store().set(dropped, 'v', 60_000)
    assert.deepEqual(await store().claim(dropped, 0), { value: 'v', first: true, agoMs: 0 })
    assert.equal(await store().get(dropped), undefined)
    assert.equal(await store().claim(dropped, 0), undefined)
  })

  it('counts every count of many at once', async () => {
    const key = fresh()
    const counts = await Promise.all(Array.from({ length: 100 }, () => store().count(key, 1, 60_000)))
    assert.deepEqual(
      counts.map(({ total }) => total).sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, i) => i + 1),
    )
    assert.ok(counts.every(({ endsInMs }) => endsInMs > 50_000 && endsInMs <= 60_000))
  })

  it('starts a counter anew after its window, which later counts do not extend', async () => {
    const [over, open] = [fresh(), fresh()]
    await store().count(over, 1, 20)
    await store().count(open, 1, 60_000)
    await under().pass(60)
    assert.equal((await store().count(over, 1, 60_000)).total, 1)
    const { total, endsInMs } = await store().count(open, 1, 120_000)
    assert.equal(total, 2)
    assertIs(endsInMs, above(50_000))
    assertIs(endsInMs, atMost(59_945))
  })

  it('lowers a counter, but none that is not there, and forgets one that comes to 0', async () => {
    const key = fresh()
    await store().count(key, 2, 60_000)
    assert.equal((await store().count(key, -1, 60_000)).total, 1)
    assert.deepEqual(await store().count(key, -2, 60_000), { total: 0, endsInMs: 0 })
    assert.equal((await store().count(key, 1, 60_000)).total, 1)
    assert.deepEqual(await store().count(fresh(), -1, 60_000), { total: 0, endsInMs: 0 })
  })

  it('tells what a counter stands at when 0 is added, and makes none', async () => {
    const key = fresh()
    assert.deepEqual(await store().count(key, 0, 60_000), { total: 0, endsInMs: 0 })
    await store().count(key, 1, 60_000)
    await under().pass(50)
    const { total, endsInMs } = await store().count(key, 0, 120_000)
    assert.equal(total, 1)
    assertIs(endsInMs, above(50_000))
    assertIs(endsInMs, atMost(59_955))
  })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryOAuthStore } from '../../../lib/oauth/stores/memory-store'
import { manualClock } from '../../../lib/testing'
import { storeContract } from './store-contract'

describe('memoryOAuthStore()', () => {
  const clock = manualClock()
  const store = memoryOAuthStore({ clock })
  storeContract(() => ({ store, pass: (ms) => Promise.resolve(clock.advance(ms)) }))

  it('refuses new entries when full, and keeps all old ones', async () => {
    const clock = manualClock()
    const small = memoryOAuthStore({ clock, maxEntries: 2 })
    await small.set('a', '1', 100)
    await small.set('b', '2', 1_000)
    await assert.rejects(small.set('c', '3', 1_000), /memoryOAuthStore is full/)
    await assert.rejects(small.count('d', 1, 1_000), /memoryOAuthStore is full/)
    assert.equal(await small.get('a'), '1')
    await small.set('a', '1b', 100)
    clock.advance(100)
    await small.set('c', '3', 1_000)
    assert.equal(await small.get('c'), '3')
  })

  it('takes no longer for a write when a hundred times as many entries are kept, full or expiring', async () => {
    const perWriteMs = async (write: (key: string) => Promise<unknown>) => {
      const before = process.cpuUsage()
      for (let i = 0; i < 200; i++) await write(`new:${i}`)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000 / 200
    }
    /** The least of five stores: what stops the process for a moment does not stop it in each of them. */
    const measured = async (entries: number) => {
      const [full, expiring]: [number[], number[]] = [[], []]
      for (let round = 0; round < 5; round++) {
        const clock = manualClock()
        const store = memoryOAuthStore({ clock, maxEntries: entries })
        for (let i = 0; i < entries; i++) await store.set(`old:${i}`, 'v', 1_000_000 + (i % 10))
        full.push(await perWriteMs((key) => assert.rejects(store.set(key, 'v', 1_000), /is full/)))
        clock.advance(1_000_010)
        expiring.push(await perWriteMs((key) => store.set(key, 'v', 1_000)))
      }
      return { full: Math.min(...full), expiring: Math.min(...expiring) }
    }
    const [few, many] = [await measured(1_000), await measured(100_000)]
    assert.ok(many.full < 10 * few.full + 0.1, `${many.full} ms, ${few.full} ms with few`)
    assert.ok(many.expiring < 10 * few.expiring + 0.1, `${many.expiring} ms, ${few.expiring} ms with few`)
  })

  it('drops expired entries as it takes new ones, so it stops growing', async () => {
    const clock = manualClock()
    const store = memoryOAuthStore({ clock, maxEntries: 1_000 })
    for (let i = 0; i < 50_000; i++) {
      await store.set(`k:${i}`, 'v', 100 + (i % 3) * 50)
      if (i % 3 === 0) await store.get(`k:${i}`, 300)
      if (i % 7 === 0) await store.claim(`k:${i}`, i % 2 === 0 ? 0 : 200)
      await store.count(`c:${i % 40}`, 1, 100)
      clock.advance(1)
    }
    assert.equal(await store.get('k:49999'), 'v')
    assert.equal(await store.get('k:48000'), undefined)
  })
})

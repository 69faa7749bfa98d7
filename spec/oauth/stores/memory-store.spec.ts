import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStore } from '../../../lib/oauth/stores/memory-store'
import { manualClock } from '../../../lib/testing'
import { storeContract } from './store-contract'

describe('memoryStore()', () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  storeContract(() => ({ store, pass: (ms) => Promise.resolve(clock.advance(ms)) }))

  it('refuses to take more when full, and forgets nothing for it', async () => {
    const clock = manualClock()
    const small = memoryStore({ clock, maxEntries: 2 })
    await small.set('a', '1', 100)
    await small.set('b', '2', 1_000)
    await assert.rejects(small.set('c', '3', 1_000), /memoryStore is full/)
    await assert.rejects(small.count('d', 1, 1_000), /memoryStore is full/)
    assert.equal(await small.get('a'), '1')
    await small.set('a', '1b', 100)
    clock.advance(100)
    await small.set('c', '3', 1_000)
    assert.equal(await small.get('c'), '3')
  })
})

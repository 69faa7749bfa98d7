import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { OrderedMap } from '../../lib/http/ordered-map'

describe('OrderedMap', () => {
  it('law: its oldest key is the first one of its keys, whatever is added, deleted, added again or looked at', () => {
    const step = fc.tuple(
      fc.constantFrom('set', 'set', 'delete', 'look', 'drop', 'clear'),
      fc.integer({ min: 0, max: 9 }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const map = new OrderedMap<number, string>()
        for (const [what, key] of steps) {
          if (what === 'set') map.set(key, what)
          else if (what === 'delete') map.delete(key)
          else if (what === 'clear') map.clear()
          else if (what === 'look') assert.equal(map.oldest, [...map.keys()][0])
          else if (map.oldest !== undefined) map.delete(map.oldest)
        }
        assert.equal(map.oldest, [...map.keys()][0])
      }),
    )
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ATTACKS, type Attack } from './attacks'
import { promised } from './promise'
import { attack } from './virtual-time'

describe('throttle() in four processes gives an attacker what docs/security.md says', () => {
  for (const [row, [each]] of Object.entries(ATTACKS))
    it(row, async (t) => {
      const got = await attack(t, each as Attack, 18_000, 4)
      const most = promised(row, '18')
      t.diagnostic(JSON.stringify({ got, most }))
      assert.ok(got.first <= most.first + 0.05, `first window: ${got.first} of ${most.first}`)
      assert.ok(got.average <= most.average + 0.05, `average: ${got.average} of ${most.average}`)
    })

  it('also where he asks another process in each window', async (t) => {
    const row = 'quick requests first, then slow ones'
    const got = await attack(t, ATTACKS[row]?.[0] as Attack, 18_000, 4, true)
    t.diagnostic(JSON.stringify(got))
    assert.ok(got.average <= promised(row, '18').average + 0.05, `average: ${got.average}`)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ATTACKS } from './attacks'
import { promised } from './promise'
import { attack } from './virtual-time'

/** How long a request of an attacker runs. For all columns of the docs: `ADVERSARY_S='2 18 60'`, which takes a minute. */
const DURATIONS = (process.env.ADVERSARY_S ?? '18').split(' ')

for (const seconds of DURATIONS) {
  describe(`throttle() gives an attacker with requests of ${seconds} s no more than docs/security.md says`, () => {
    for (const [row, attacks] of Object.entries(ATTACKS)) {
      for (const each of attacks)
        it(`${row}${each.isQuickFirst && each.isOnNewRoutes ? ', each window on a new route' : ''}`, async (t) => {
          const got = await attack(t, each, Number(seconds) * 1_000, 1)
          const most = promised(row, seconds)
          t.diagnostic(JSON.stringify({ got, most }))
          assert.ok(got.first <= most.first + 0.05, `first window: ${got.first} of ${most.first}`)
          assert.ok(got.average <= most.average + 0.05, `average: ${got.average} of ${most.average}`)
        })
    }
  })
}

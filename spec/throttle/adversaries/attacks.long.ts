// No attack takes more than its row in docs/security.md says.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ATTACKS } from './attacks'
import { promised, promisedRows } from './promise'
import { attack } from './virtual-time'
import { assertIs, atMost } from '../../support/until'

/** How long a request of an attacker runs, by processes. For all columns of the docs: `ADVERSARY_S='2 18 60'`, which takes minutes. */
const DURATIONS = [
  { processes: 1, durations: '2 18' },
  { processes: 4, durations: '18 60' },
]
const IS_LONG = process.env.ADVERSARY_S !== undefined

it('the table of docs/security.md has a row for each attack, and no other', () => {
  assert.deepEqual(promisedRows(), Object.keys(ATTACKS))
})

for (const { processes, durations } of DURATIONS)
  for (const seconds of (process.env.ADVERSARY_S ?? durations).split(' '))
    describe(`throttle() in ${processes === 1 ? 'one process' : 'four processes'} gives an attacker with requests of ${seconds} s no more than docs/security.md says`, () => {
      for (const [row, attacks] of Object.entries(ATTACKS))
        for (const each of attacks) {
          // The processes go by one clock, so what blocks one would block all.
          if (processes === 1 ? each.isMoving : each.blocks) continue
          // Where requests are short, time excused for blocking shows most, and the others show nothing new.
          if (seconds === '2' && !each.blocks && !IS_LONG) continue
          it(`${row} ${JSON.stringify({ ...each, tricks: undefined })}`, async (t) => {
            const got = await attack(t, each, Number(seconds) * 1_000, processes)
            const most = promised(row, seconds)
            t.diagnostic(JSON.stringify({ got, most }))
            assertIs(got.first, atMost(most.first + 0.05), `first window: ${got.first} of ${most.first}`)
            assertIs(got.average, atMost(most.average + 0.05), `average: ${got.average} of ${most.average}`)
          })
        }
    })

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Account } from '../../../lib/throttle/account/account'
import { memoryServer } from '../../../lib/throttle/account/server'

it('an account counts strain in hundredths, as the store does: it starts what the store has granted', () => {
  const terms = { windowUs: 60_000_000, carryOver: false, grantAhead: true }
  const account = new Account('ada', 'id', 0, terms, memoryServer(0), 0)
  account.strain = 100
  assert.ok(account.hasPlace(18_000_000, 0, 31))
  account.strain = 101
  assert.ok(!account.hasPlace(18_000_000, 0, 31))
})

// Waiting requests beyond the bound of a process: whose are cut.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Request } from 'express'
import { Accounts } from '../../../lib/throttle/store/accounts'
import { manualClock } from '../../../lib/testing'
import { SpecRequest, waitingOf } from '../spec-request'
import { assertIs, atMost } from '../../support/until'

const LIMIT_US = 1_000_000
const STRANGERS = 80
const EACH = 60

describe('when 4,096 requests wait over all users, each in the line of its user', () => {
  it('the longest line loses its last request', () => {
    const clock = manualClock()
    const budgets = new Accounts('default', { windowUs: 60_000_000, carryOvershoot: false }, clock)
    const now = () => Math.round(clock.now() * 1_000)
    // The first request of each subject reserves all of its limit.
    const ask = (subject: string) =>
      new SpecRequest(budgets, subject, now(), { price: () => LIMIT_US, limitUs: LIMIT_US, waitUs: 5_000_000 })
    const askFor = (subject: string, count: number) => Array.from({ length: count }, () => ask(subject))
    const lengthOf = (subject: string) => waitingOf(budgets.account(subject, now())).length
    const small = ['ada', 'bob'].map((subject) => askFor(subject, 9))
    const strangers = Array.from({ length: STRANGERS }, (_, i) => askFor(`stranger-${i}`, 1 + EACH))
    const late = askFor('eve', 9)

    for (const [first, ...others] of [...small, late]) {
      assert.equal(first?.end, 'start')
      assert.deepEqual(
        others.filter(({ end }) => end !== undefined),
        [],
        'nobody of a line of eight is refused',
      )
    }
    const lengths = strangers.map((_, i) => lengthOf(`stranger-${i}`))
    const all = ['ada', 'bob', 'eve'].reduce((sum, subject) => sum + lengthOf(subject), 0)
    assert.equal(
      lengths.reduce((sum, length) => sum + length, all),
      4_096,
    )
    assertIs(Math.max(...lengths) - Math.min(...lengths), atMost(9), String(lengths)) // the longest is looked for now and then
    for (const [, ...others] of strangers) {
      const cut = others.findIndex(({ end }) => end !== undefined)
      if (cut < 0) continue
      assert.deepEqual(new Set(others.slice(cut).map(({ end }) => end)), new Set(['queue']), 'the last are cut')
    }
    askFor('ada', 4)
    assert.equal(lengthOf('ada'), 12, 'a short line still grows')
    clock.advance(5_100) // nobody may wait for longer
    const [, waits] = askFor('joe', 2)
    assert.equal(waits?.end, undefined, 'there is room again')
  })

  it('the block of networks with most of them loses some, though each of its lines is short', () => {
    const clock = manualClock()
    const budgets = new Accounts('default', { windowUs: 60_000_000, carryOvershoot: false }, clock)
    const now = () => Math.round(clock.now() * 1_000)
    const askFor = (subject: string, ip: string, count: number) => {
      const account = budgets.payer(subject, 1_000_000, { ip } as Request, now())
      const terms = { price: () => LIMIT_US, limitUs: LIMIT_US, waitUs: 5_000_000 }
      for (let n = 0; n < 1 + count; n++) new SpecRequest(budgets, subject, now(), terms)
      return account
    }
    const ada = askFor('ada', '203.0.113.7', 50)
    const strangers = Array.from({ length: 800 }, (_, i) => askFor(`s${i}`, `2001:db8:0:${i.toString(16)}00::1`, 8))
    assert.equal(ada.line.length, 50)
    assert.equal(
      strangers.reduce((sum, { line }) => sum + line.length, 50),
      4_096,
    )
  })
})

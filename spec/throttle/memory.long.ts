// Memory of a quarter of a million subjects, and who pays once there is no room.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Request } from 'express'
import { manualClock } from '../../lib/testing'
import { subjectId } from '../../lib/throttle/budget/subjects'
import { Accounts } from '../../lib/throttle/store/accounts'
import { SpecRequest } from './spec-request'
import { assertIs, atMost, above } from '../support/until'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const SUBJECTS = 250_000
/** A subject that asked once takes 970 to 1,020 bytes: its account, its price on the route and its address. */
const MOST_BYTES = 1_100
const LIMIT_US = 1_000_000
const WINDOW_MS = 60_000
const TERMS = { windowUs: WINDOW_MS * 1_000, carryOvershoot: false }

function heap(): number {
  collect()
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

/** A moment at which a window of this subject begins, so that none ends amid the spec. */
function windowStart(subject: string): number {
  const windowUs = WINDOW_MS * 1_000
  const us = Date.UTC(2026, 0, 1) * 1_000
  return (us - ((us + subjectId(subject, windowUs).phase) % windowUs)) / 1_000
}

/** An address of its own for each number: 16 million of them. */
function address(i: number): string {
  return `address:${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}.${(i * 7) & 255}`
}

describe('a quarter of a million subjects in memory', () => {
  const clock = manualClock(windowStart('throttled'))
  const budgets = new Accounts('default', TERMS, clock)

  /** One request of a subject that takes `us`; false where it is refused. */
  function request(subject: string, us: number): boolean {
    const now = Math.round(clock.now() * 1_000)
    const asked = new SpecRequest(budgets, subject, now, { limitUs: LIMIT_US })
    if (!asked.hasBegun) return false
    asked.start(now).finish(now + us)
    return true
  }

  it('take 1,100 bytes each at most, and none that is throttled is forgotten', () => {
    const before = heap()
    assert.equal(request('throttled', LIMIT_US + 1), true)
    for (let i = 0; i < SUBJECTS; i++) {
      request(address(i), 1_000)
      if (i % 12_500 === 0) clock.advance(100)
    }
    clock.advance(5_000)
    const each = (heap() - before) / SUBJECTS
    assertIs(each, above(20), `${each.toFixed(0)} bytes a subject`)
    assertIs(each, atMost(MOST_BYTES), `${each.toFixed(0)} bytes a subject`)
    assert.equal(request('throttled', 1), false)
    assert.equal(budgets.account(address(77)).usedUs(clock.now() * 1_000), 1_000)
  })

  it('are all gone a window later', () => {
    clock.advance(2 * WINDOW_MS)
    assert.equal(budgets.size, 0)
    assert.equal(request('throttled', 1), true)
  })
})

describe('Accounts.payer()', () => {
  it('gives newcomers their network’s account once there is no room, and one for all in the end', () => {
    const budgets = new Accounts('default', TERMS, manualClock(Date.UTC(2026, 0, 1)))
    const place = (subject: string, ip: string) => {
      const { subject: payer } = budgets.payer(subject, 3, { ip, headers: {} } as unknown as Request, 0)
      new SpecRequest(budgets, payer, 0).start(0).finish(1)
      return payer
    }
    for (const subject of ['a', 'b', 'c']) place(subject, '1.2.3.4')
    assert.equal(place('a', '1.2.3.4'), 'a', 'who is known stays who it is')
    assert.equal(place('d', '1.2.3.4'), 'network:1.2.0.0/16')
    assert.equal(place('d', '2001:db8:1::1'), 'network:2001:db8::/32')
    for (let i = 0; i < 5_000; i++) place(`e${i}`, `${1 + (i >> 8)}.${i & 255}.0.1`)
    assert.equal(place('f', '200.1.1.1'), 'network:*')
    assert.equal(place('f', '1.17.1.1'), 'network:1.17.0.0/16')
    assertIs(budgets.size, atMost(3 + 4_096 + 1), `${budgets.size} subjects`)
  })
})

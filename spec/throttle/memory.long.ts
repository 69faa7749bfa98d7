import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Request } from 'express'
import { manualClock } from '../../lib/testing'
import type { Applicant } from '../../lib/throttle/account/decide'
import { subjectId } from '../../lib/throttle/account/subject-id'
import { Ledger } from '../../lib/throttle/ledger'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const SUBJECTS = 1_000_000
const LIMIT_US = 1_000_000
const NOBODY: Applicant = {
  ...{ price: () => 0, limitUs: LIMIT_US, wait: { maxUs: 0, perSubject: 0 }, isGone: false },
  decided: () => undefined,
}
const WINDOW_MS = 60_000
const TERMS = { windowUs: WINDOW_MS * 1_000, carryOver: false, grantAhead: true }

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

describe('a million subjects in memory', () => {
  const clock = manualClock(windowStart('throttled'))
  const ledger = new Ledger('default', TERMS, clock)

  /** One request of a subject that takes `us`; false where it is refused. */
  function request(subject: string, us: number): boolean {
    const decision = ledger.admit(subject, NOBODY)
    if (!('hold' in decision)) return false
    const now = Math.round(clock.now() * 1_000)
    ledger.start(decision.hold, now)
    ledger.end(decision.hold, now + us)
    return true
  }

  it('take 200 bytes each at most, and none that is throttled is forgotten', () => {
    const before = heap()
    assert.equal(request('throttled', LIMIT_US + 1), true)
    for (let i = 0; i < SUBJECTS; i++) {
      request(address(i), 1_000)
      if (i % 50_000 === 0) clock.advance(100)
    }
    clock.advance(5_000)
    const each = (heap() - before) / SUBJECTS
    assert.ok(each > 20 && each <= 200, `${each.toFixed(0)} bytes a subject`)
    assert.equal(request('throttled', 1), false)
    assert.equal(ledger.account(address(77)).used(clock.now() * 1_000), 1_000)
  })

  it('are all gone a window later', () => {
    clock.advance(2 * WINDOW_MS)
    assert.equal(ledger.subjects, 0)
    assert.equal(request('throttled', 1), true)
  })
})

describe('Ledger.keptAs()', () => {
  it('gives newcomers their network’s account once there is no room, and one for all in the end', () => {
    const ledger = new Ledger('default', TERMS, manualClock(Date.UTC(2026, 0, 1)))
    const admit = (subject: string) => {
      const decision = ledger.admit(subject, NOBODY)
      if ('hold' in decision) ledger.end(decision.hold, 0)
    }
    const place = (subject: string, ip: string) => ledger.keptAs(subject, 3, { ip, headers: {} } as unknown as Request)
    for (const subject of ['a', 'b', 'c']) admit(place(subject, '1.2.3.4'))
    assert.equal(place('a', '1.2.3.4'), 'a', 'who is known stays who it is')
    assert.equal(place('d', '1.2.3.4'), 'network:1.2')
    assert.equal(place('d', '2001:db8:1::1'), 'network:2001:db8')
    for (let i = 0; i < 5_000; i++) admit(place(`e${i}`, `${1 + (i >> 8)}.${i & 255}.0.1`))
    assert.equal(place('f', '200.1.1.1'), 'network:*')
    assert.equal(place('f', '1.17.1.1'), 'network:1.17')
    assert.ok(ledger.subjects <= 3 + 4_096 + 1, `${ledger.subjects} subjects`)
  })
})

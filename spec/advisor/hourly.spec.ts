import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { HOURS_KEPT, HourRecord, HourlyRecords, hourOf, OPEN_HOURS } from '../../lib/advisor/hourly'

const recorded = fc.record({ us: fc.array(fc.nat(2 ** 40), { maxLength: 30 }), refused: fc.nat(1_000) })

function recordOf({ us, refused }: { us: readonly number[]; refused: number }): HourRecord {
  const record = new HourRecord()
  for (const one of us) record.histogram.move(0, one)
  record.refused = refused
  return record
}

describe('HourRecord', () => {
  it('comes back from its fields, summed up as HINCRBY does', () => {
    fc.assert(
      fc.property(fc.array(recorded, { maxLength: 5 }), (records) => {
        const hash = new Map<string, number>()
        for (const one of records) {
          for (const [field, by] of recordOf(one).fields()) {
            assert.ok(Number.isSafeInteger(by) && by !== 0)
            hash.set(field, (hash.get(field) ?? 0) + by)
          }
        }
        const back = new HourRecord()
        back.addFields(Object.fromEntries([...hash].map(([field, value]) => [field, String(value)])))
        const sum = recordOf({ us: records.flatMap(({ us }) => us), refused: 0 })
        assert.deepEqual(back.histogram.buckets, sum.histogram.buckets)
        assert.equal(back.refused, records.reduce((all, { refused }) => all + refused, 0)) // prettier-ignore
      }),
    )
  })

  it('ignores fields that it did not write', () => {
    const record = new HourRecord()
    record.addFields({ c1: 'x', c9999: '1', __proto__: '1', u: '1', cc1: '1', c2: '1e999', r: '', x: '5' })
    assert.deepEqual([record.histogram.buckets, record.refused], [[], 0])
  })
})

describe('HourlyRecords', () => {
  it('sums the hours asked for, drops those older than a week and the longest window, and gives back what was taken', () => {
    const records = new HourlyRecords()
    for (const hour of [10, 11, 12]) records.of(hour).refused += hour
    assert.equal(records.sum(11, 12).refused, 23)
    const taken = records.take()
    assert.equal(records.sum(0, 99).refused, 0)
    records.of(11).refused += 1
    records.give(taken)
    assert.deepEqual([records.sum(11, 11).refused, records.sum(0, 99).refused], [12, 34])
    records.of(11 + OPEN_HOURS) // where a window of 30 days ends that began in hour 11
    assert.equal(records.sum(11, 11).refused, 12)
    records.of(11 + OPEN_HOURS + HOURS_KEPT)
    assert.deepEqual([records.sum(11, 11).refused, records.sum(12, 12).refused], [0, 12])
  })

  it('counts a window to the hour in which it ends', () => {
    assert.deepEqual([hourOf(3_599_999_999), hourOf(3_600_000_000), hourOf(7_200_000_000)], [0, 1, 2])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Histogram, bucketStartUs } from '../../lib/advisor/histogram'
import { HourRecord } from '../../lib/advisor/hourly'

/** A report: the process, the subject-window and what its total changes by, in microseconds. A reset takes all. */
const report = fc.record({
  process: fc.nat(4),
  subject: fc.nat(7),
  us: fc.oneof(fc.integer({ min: 1, max: 20_000_000 }), fc.nat(1_200), fc.constant('reset' as const)),
})

/** What the store does: it knows the totals, and each answer brings the total before and after the report. */
function store() {
  const totals = new Map<number, number>()
  return {
    totals,
    answer(subject: number, us: number | 'reset'): [before: number, after: number] {
      const before = totals.get(subject) ?? 0
      const after = us === 'reset' ? 0 : before + us
      totals.set(subject, after)
      return [before, after]
    },
  }
}

function histogramOf(totals: Iterable<number>): Histogram {
  const histogram = new Histogram()
  for (const us of totals) histogram.move(0, us)
  return histogram
}

describe('Histogram', () => {
  it('of several processes, added up, equals the histogram of the totals, whoever reported what', () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 200 }), (reports) => {
        const redis = store()
        const processes = Array.from({ length: 5 }, () => new Histogram())
        for (const { process, subject, us } of reports) processes[process]?.move(...redis.answer(subject, us))
        const sum = new Histogram()
        for (const one of processes) sum.addAll(one)
        assert.deepEqual(sum.buckets, histogramOf(redis.totals.values()).buckets)
      }),
      { numRuns: 500 },
    )
  })

  it('stays right when processes write their moves down at any time and restart; a killed one loses what it had not written', () => {
    const event = fc.oneof(
      { weight: 5, arbitrary: report },
      fc.record({ writes: fc.nat(4) }),
      fc.record({ dies: fc.nat(4) }),
    )
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const redis = store()
        const written = new HourRecord()
        const lost = new HourRecord()
        const processes = Array.from({ length: 5 }, () => new HourRecord())
        const end = (i: number, to: HourRecord) => {
          to.addFields(processes[i]?.fields() ?? new Map())
          processes[i] = new HourRecord()
        }
        for (const one of events) {
          if ('writes' in one) end(one.writes, written)
          else if ('dies' in one) end(one.dies, lost)
          else processes[one.process]?.histogram.move(...redis.answer(one.subject, one.us))
        }
        for (const i of processes.keys()) end(i, written)
        written.add(lost)
        assert.deepEqual(written.histogram.buckets, histogramOf(redis.totals.values()).buckets)
      }),
      { numRuns: 500 },
    )
  })

  it('has buckets of an eighth of a factor of two, adjoining, from 1 ms on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 51 }), (us) => {
        const [[index = NaN, { count, us: sum }] = [NaN, { count: NaN, us: NaN }], ...more] = histogramOf([us]).buckets
        assert.deepEqual([count, sum, more.length], [1, us, 0])
        const [from, to] = [bucketStartUs(index), bucketStartUs(index + 1)]
        assert.ok(us >= from * (1 - 1e-12) && us < to * (1 + 1e-12), `${from} ${us} ${to}`)
        if (index > 0) assert.ok(Math.abs(to / from - 2 ** (1 / 8)) < 1e-9)
      }),
    )
    const powers = Array.from({ length: 30 }, (_, i) => 1_000 * 2 ** i)
    assert.deepEqual(histogramOf(powers).buckets.map(([index]) => index), powers.map((_, i) => 8 * i + 1)) // prettier-ignore
  })

  it('keeps nothing for totals that are gone', () => {
    const histogram = new Histogram()
    histogram.move(0, 5_000)
    histogram.move(5_000, 9_000_000)
    histogram.move(9_000_000, -3)
    histogram.move(-3, 0)
    assert.equal(histogram.isEmpty, true)
  })
})

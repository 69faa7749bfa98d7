// The arithmetic of advise(): quantiles and what lies above a limit, from histograms that processes add up.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { adviceOf } from '../../lib/advisor/advice'
import { Distribution } from '../../lib/advisor/distribution'
import { Histogram, bucketStartUs } from '../../lib/advisor/histogram'
import { HourRecord, HOURS_KEPT, HourlyRecords, hourOf, OPEN_HOURS } from '../../lib/advisor/hourly'
import { assertIs, below, between } from '../support/until'

const POLICY = { name: 'default', windowMs: 60_000, limitMs: 18_000 }

function recordOf(totals: readonly number[], refused = 0): HourRecord {
  const record = new HourRecord()
  for (const us of totals) record.histogram.move(0, us)
  record.refused = refused
  return record
}

describe('Distribution', () => {
  const totals = fc.array(fc.oneof(fc.integer({ min: 1, max: 60_000_000 }), fc.nat(3_000).map((us) => us + 1)), { minLength: 1, maxLength: 300 }) // prettier-ignore

  it('tells each quantile to one bucket, and the highest total itself where it is alone in its bucket', () => {
    fc.assert(
      fc.property(totals, fc.double({ min: 0.001, max: 1, noNaN: true }), (us, q) => {
        const told = new Distribution(recordOf(us).histogram).quantileUs(q)
        const exact = us.toSorted((a, b) => a - b)[Math.ceil(q * us.length - 1e-9) - 1] as number
        const [from, to] = boundsOf(exact)
        assertIs(told, between(from - 1e-6, to + 1e-6), `${told} for ${exact}`)
      }),
    )
    assert.equal(new Distribution(recordOf([5_000, 9_876_543]).histogram).quantileUs(1), 9_876_543)
  })

  it('tells what is above a limit: exactly at the bounds of buckets, else to the bucket that has the limit', () => {
    fc.assert(
      fc.property(
        totals,
        fc.integer({ min: 1, max: 130 }),
        fc.integer({ min: 1, max: 70_000_000 }),
        (us, bucket, limit) => {
          const told = new Distribution(recordOf(us).histogram)
          const over = (limit: number) => us.filter((one) => one >= limit)
          const bound = bucketStartUs(bucket)
          assert.equal(told.above(bound).count, over(bound).length)
          const timeOver = over(bound).reduce((sum, one) => sum + one - bound, 0)
          assertIs(Math.abs(told.above(bound).us - timeOver), below(1))
          const [from, to] = boundsOf(limit)
          const { count } = told.above(limit)
          assertIs(count, between(over(to).length - 1e-6, over(from).length + 1e-6))
        },
      ),
    )
  })

  it('counts a bucket as empty that is below zero: a killed process has lost its moves', () => {
    const histogram = new Histogram()
    histogram.move(0, 8_000_000)
    histogram.move(2_000_000, 8_000_000)
    const { count, us, bars } = new Distribution(histogram)
    assert.deepEqual([count, us, bars.length], [2, 16_000_000, 1])
  })
})

describe('adviceOf()', () => {
  it('sums up the totals, and compares limits around the present one, or those given', () => {
    const record = recordOf([1_000_000, 3_000_000, 60_000_000])
    const { quantilesMs, limits, subjectWindows, processingMs, warning } = adviceOf(POLICY, record, 1, true)
    assert.deepEqual([subjectWindows, processingMs, warning, quantilesMs.max], [3, 64_000, undefined, 60_000])
    assertIs(quantilesMs.p50, between(2_700, 3_300))
    assert.deepEqual(limits.map(({ limitMs }) => limitMs), [9_000, 18_000, 36_000, 90_000]) // prettier-ignore
    assert.deepEqual(limits.map(({ share }) => Math.round(3 * share)), [1, 1, 1, 0]) // prettier-ignore
    assertIs(limits[0]?.timeShare, between(50 / 64, 52 / 64))
    assert.deepEqual(adviceOf(POLICY, record, 1, true, [500]).limits.map(({ share }) => share), [1]) // prettier-ignore
  })

  it('warns where limits were enforced, and not where the run is dry or nobody was refused', () => {
    const warning = (refused: number, isDryRun: boolean) =>
      adviceOf(POLICY, recordOf([5_000], refused), 1, isDryRun).warning
    assert.match(
      warning(7, false) ?? '',
      /^7 requests were refused, so the totals are cut off at the limit.*dryRun: true/,
    )
    assert.deepEqual([warning(7, true), warning(0, false)], [undefined, undefined])
  })

  it('says nothing of nobody, and compares with p99 where the limit depends on the request', () => {
    const none = adviceOf(POLICY, new HourRecord(), 24, false)
    assert.deepEqual(none.quantilesMs, { p50: 0, p90: 0, p99: 0, p999: 0, max: 0 })
    assert.deepEqual([none.subjectWindows, none.limits[1]?.share, none.distribution], [0, 0, []])
    const perPlan = adviceOf({ ...POLICY, limitMs: () => 5 }, recordOf([4_000_000]), 24, false)
    assert.deepEqual([perPlan.limitMs, perPlan.limits[1]?.limitMs, perPlan.limits[0]?.share], [null, 4_000, 1])
  })
})

/** The bounds of the bucket of a total. */
function boundsOf(us: number): [from: number, to: number] {
  const [[index = NaN] = []] = recordOf([us]).histogram.buckets
  return [bucketStartUs(index), bucketStartUs(index + 1)]
}

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
})

describe('HourRecord', () => {
  it('comes back from its fields, and ignores fields that it did not write', () => {
    const record = new HourRecord()
    record.addFields({ c1: 'x', c9999: '1', __proto__: '1', u: '1', cc1: '1', c2: '1e999', r: '', x: '5' })
    assert.deepEqual([record.histogram.buckets, record.refused], [[], 0])
    record.addFields(recordOf([5_000], 7).fields())
    assert.deepEqual(record, recordOf([5_000], 7))
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

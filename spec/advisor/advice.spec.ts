import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { adviceOf } from '../../lib/advisor/advice'
import { Distribution } from '../../lib/advisor/distribution'
import { Histogram, bucketStartUs } from '../../lib/advisor/histogram'
import { HourRecord } from '../../lib/advisor/hourly'

const POLICY = { name: 'default', windowMs: 60_000, limitMs: 18_000 }

function recordOf(totals: readonly number[], refused = 0): HourRecord {
  const record = new HourRecord()
  for (const us of totals) record.histogram.move(0, us)
  record.refused = refused
  return record
}

/** 100,000 totals: log-normal, median 900 ms, as processing times are. The same ones each time. */
const N = 100_000
const lognormal = Array.from({ length: N }, (_, i) => {
  const [u, v] = [((i * 7_919) % N) / N + 0.5 / N, ((i * 104_729) % N) / N]
  return Math.round(900_000 * Math.exp(1.1 * Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v)))
})

describe('Distribution', () => {
  const totals = fc.array(fc.oneof(fc.integer({ min: 1, max: 60_000_000 }), fc.nat(3_000).map((us) => us + 1)), { minLength: 1, maxLength: 300 }) // prettier-ignore

  it('tells each quantile to one bucket, and the highest total itself where it is alone in its bucket', () => {
    fc.assert(
      fc.property(totals, fc.double({ min: 0.001, max: 1, noNaN: true }), (us, q) => {
        const told = new Distribution(recordOf(us).histogram).quantileUs(q)
        const exact = us.toSorted((a, b) => a - b)[Math.ceil(q * us.length - 1e-9) - 1] as number
        const [from, to] = boundsOf(exact)
        assert.ok(told >= from - 1e-6 && told <= to + 1e-6, `${told} for ${exact}`)
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
          assert.ok(Math.abs(told.above(bound).us - timeOver) < 1)
          const [from, to] = boundsOf(limit)
          const { count } = told.above(limit)
          assert.ok(count >= over(to).length - 1e-6 && count <= over(from).length + 1e-6)
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
  it('of 100,000 log-normal totals: quantiles within a bucket, shares within 0.1 percentage points', () => {
    const exact = lognormal.toSorted((a, b) => a - b)
    const { quantilesMs, limits, subjectWindows, processingMs, warning } = adviceOf(
      POLICY,
      recordOf(lognormal),
      1,
      true,
    )
    for (const [name, q] of [
      ['p50', 0.5],
      ['p90', 0.9],
      ['p99', 0.99],
      ['p999', 0.999],
      ['max', 1],
    ] as const) {
      // prettier-ignore
      const [from, to] = boundsOf(exact[Math.ceil(q * N) - 1] as number)
      const told = quantilesMs[name] * 1_000
      assert.ok(told >= from - 500 && told <= to + 500, `${name}: ${told}, between ${from} and ${to}`)
    }
    const us = lognormal.reduce((sum, one) => sum + one, 0)
    assert.deepEqual([subjectWindows, processingMs, warning], [N, Math.round(us / 1_000), undefined])
    assert.deepEqual(limits.map(({ limitMs }) => limitMs), [9_000, 18_000, 36_000, 90_000]) // prettier-ignore
    const all = [...limits, ...adviceOf(POLICY, recordOf(lognormal), 1, true, [500, 1_000, 2_500, 7_777]).limits]
    for (const { limitMs, share, timeShare } of all) {
      const over = lognormal.filter((one) => one > limitMs * 1_000)
      const timeOver = over.reduce((sum, one) => sum + one - limitMs * 1_000, 0)
      assert.ok(Math.abs(share - over.length / N) < 0.001, `${limitMs}: ${share} for ${over.length / N}`)
      assert.ok(Math.abs(timeShare - timeOver / us) < 0.001, `${limitMs}: ${timeShare} for ${timeOver / us}`)
    }
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

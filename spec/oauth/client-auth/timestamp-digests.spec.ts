import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, it } from 'node:test'
import { TimestampDigests } from '../../../lib/oauth/client-auth/timestamp-digests'

const digest = (time: number) => hash('sha256', String(time))

describe('TimestampDigests', () => {
  it('finds every time within the tolerance and none beyond, however the clock goes', async () => {
    const tolerance = 5_000
    const digests = new TimestampDigests('sha256', tolerance)
    let now = 1_800_000_000_000
    for (const step of [0, 1, 4_000, 9_999, 10_000, 10_001, 123_456, -1, -7_000, -50_000, 3, 10_002]) {
      now += step
      for (const away of [0, 1, -1, 1_999, -2_001, 4_999, -4_999, tolerance, -tolerance])
        assert.equal(await digests.find(digest(now + away), now), now + away, `${step} ${away}`)
      for (const away of [tolerance + 1, -tolerance - 1, 3_600_000, -3_600_000])
        assert.equal(await digests.find(digest(now + away), now), undefined, `${step} ${away}`)
    }
  })

  it('finds many at once', async () => {
    const digests = new TimestampDigests('sha256', 20_000)
    const now = 1_800_000_000_000
    const times = Array.from({ length: 50 }, (_, i) => now - 20_000 + i * 800)
    assert.deepEqual(await Promise.all(times.map((time) => digests.find(digest(time), now))), times)
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Histories, RoutePrice, learnPrice } from '../../../lib/throttle/window/hold-prices'
import { IdleHistories } from '../../../lib/throttle/window/idle-subjects'

const some = (subject: string): Histories => learnPrice(new RoutePrice(), subject, undefined, 1_000)

describe('IdleHistories', () => {
  it('has what was put there, once', () => {
    const idle = new IdleHistories()
    const histories = some('ada')
    idle.put('ada', histories)
    assert.equal(idle.take('grace'), undefined)
    assert.equal(idle.take('ada'), histories)
    assert.equal(idle.take('ada'), undefined)
  })

  it('keeps 10,000 subjects at least, and 20,000 at most', () => {
    const idle = new IdleHistories()
    const coming = (from: number, to: number) => {
      for (let n = from; n < to; n++) idle.put(`user-${n}`, some(`user-${n}`))
    }
    idle.put('ada', some('ada'))
    idle.put('grace', some('grace'))
    coming(2, 10_001)
    assert.ok(idle.take('ada'))
    coming(10_001, 20_001)
    assert.equal(idle.take('grace'), undefined)
    assert.ok(idle.take('user-20000'))
  })
})

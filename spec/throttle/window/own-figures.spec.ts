import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type InFlight, OwnFigures } from '../../../lib/throttle/window/own-figures'

function begun(own: OwnFigures, cost: number, start: number): InFlight {
  const request = {
    cost,
    start,
    countedFrom: start,
    openedAt: own.openedAt,
    isPaused: false,
    pausedHold: 0,
    heldUntil: start + cost,
    isHeld: false,
    sooner: undefined,
    later: undefined,
  }
  own.begin(request)
  return request
}

describe('OwnFigures and a paused request', () => {
  it('charges it until the pause and from the resumption, and keeps what is left of its hold', () => {
    const own = new OwnFigures(1, 0, 0)
    const request = begun(own, 500, 100)
    own.charge(own.pause(request, 300))
    assert.deepEqual([own.spent, own.accrued(9_000), own.held(9_000), own.running], [200, 0, 300, 1])
    own.resume(request, 10_000)
    assert.deepEqual([own.total(10_100), own.held(10_100)], [300, 200])
    own.charge(own.end(request, 10_250))
    assert.deepEqual([own.spent, own.held(10_250), own.running], [450, 0, 0])
  })

  it('lets it end without more', () => {
    const own = new OwnFigures(1, 0, 0)
    const request = begun(own, 500, 0)
    assert.equal(own.pause(request, 600), 600)
    assert.equal(own.held(600), 0)
    assert.equal(own.pause(request, 700), 0)
    assert.equal(own.end(request, 800), 0)
    assert.deepEqual([own.running, own.held(900), own.accrued(900)], [0, 0, 0])
  })

  it('knows when a request started that ran on into the next window and waited there', () => {
    const own = new OwnFigures(1, 0, 0)
    const request = begun(own, 500, 100)
    own.next(2, 1_000)
    own.postpone(request, 30, 1_200)
    assert.deepEqual([request.start, own.total(1_200)], [130, 170])
    own.postpone(request, 300, 1_250)
    assert.deepEqual([request.start, own.total(1_250)], [430, 0])
    assert.equal(own.end(request, 1_300), 50)
  })

  it("charges a request in flight what it took, also where the store's clock is set back meanwhile", () => {
    const own = new OwnFigures(7, 0, 0)
    own.next(8, 1_000)
    const request = begun(own, 500, 1_400)
    own.renumber(3)
    assert.equal(own.end(request, 1_500), 100)
    assert.deepEqual([own.accrued(1_500), own.held(1_500)], [0, 0])
  })

  it('carries its hold, and none of its time, into the next window', () => {
    const own = new OwnFigures(1, 0, 0)
    const request = begun(own, 500, 0)
    own.charge(own.pause(request, 100))
    own.next(2, 1_000)
    assert.deepEqual([own.spent, own.accrued(1_500), own.held(1_500)], [0, 0, 400])
    own.resume(request, 1_500)
    own.charge(own.end(request, 1_600))
    assert.deepEqual([own.spent, own.held(1_600)], [100, 0])
  })
})

describe('OwnFigures, whatever begins, waits, pauses, resumes and ends, and wherever windows begin', () => {
  const step = fc.record({
    what: fc.constantFrom('begin', 'pause', 'resume', 'end', 'next', 'postpone'),
    which: fc.nat(5),
    us: fc.nat(1_000),
    cost: fc.nat(2_000),
  })

  it('charges each request what it ran, holds nothing where nothing is in flight, and never less than nothing', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const own = new OwnFigures(1, 0, 0)
        const inFlight: InFlight[] = []
        const since = new Map<InFlight, number>()
        let [now, ran, earlier, windowBegan] = [0, 0, 0, 0]
        for (const { what, which, us, cost } of steps) {
          ran += us * inFlight.filter(({ isPaused }) => !isPaused).length
          now += us
          const request = inFlight[which % Math.max(1, inFlight.length)]
          if (what === 'begin') {
            const last = begun(own, cost, now)
            inFlight.push(last)
            since.set(last, now)
          } else if (what === 'next') {
            earlier += own.total(now)
            own.next(own.number + 1, (windowBegan = now))
          } else if (request === undefined) continue
          else if (what === 'pause') own.charge(own.pause(request, now))
          else if (what === 'resume') {
            if (request.isPaused) since.set(request, now)
            own.resume(request, now)
          } else if (what === 'postpone') {
            const from = Math.max(since.get(request) as number, windowBegan)
            const waited = request.isPaused ? 0 : Math.min(cost, now - from)
            own.postpone(request, cost, now)
            since.set(request, from + waited)
            ran -= waited
          } else own.charge(own.end(...([inFlight.splice(inFlight.indexOf(request), 1)[0], now] as [InFlight, number])))
          assert.equal(earlier + own.total(now), ran)
          assert.equal(own.running, inFlight.length)
          assert.ok(own.held(now) >= 0)
          if (inFlight.length === 0) assert.equal(own.held(now), 0)
        }
      }),
    )
  })
})

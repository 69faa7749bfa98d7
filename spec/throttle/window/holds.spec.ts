import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Held, Holds } from '../../../lib/throttle/window/own-figures'

type Step =
  | { readonly do: 'add'; readonly us: number }
  | { readonly do: 'remove' | 'postpone'; readonly which: number; readonly us: number }
  | { readonly do: 'pass'; readonly us: number }

const us = fc.integer({ min: 0, max: 1_000 })
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), us }),
  fc.record({ do: fc.constantFrom('remove' as const, 'postpone' as const), which: fc.nat(200), us }),
  fc.record({ do: fc.constant('pass' as const), us }),
)

const held = (heldUntil: number): Held => ({ heldUntil, isHeld: false, sooner: undefined, later: undefined })

describe('Holds', () => {
  it('law: is the sum of what each held request has left, whatever the others take', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const holds = new Holds()
        const running: Held[] = []
        const plain = new Map<Held, number>()
        let now = 0
        for (const s of steps) {
          const one = 'which' in s ? running[s.which % Math.max(1, running.length)] : undefined
          if (s.do === 'pass') now += s.us
          else if (s.do === 'add') {
            const request = held(now + s.us)
            running.push(request)
            plain.set(request, request.heldUntil)
            holds.add(request)
          } else if (one && s.do === 'remove') {
            plain.delete(one)
            holds.remove(one)
          } else if (one && (plain.get(one) ?? 0) > now) {
            plain.set(one, (plain.get(one) as number) + s.us)
            holds.postpone(one, s.us)
          }
          const left = [...plain.values()].filter((until) => until > now)
          assert.equal(
            holds.at(now),
            left.reduce((sum, until) => sum + until - now, 0),
          )
          assert.equal(holds.soonestEnd(now), left.length === 0 ? undefined : Math.min(...left))
        }
      }),
    )
  })

  it('lets one request that takes longer than its price use up nothing of what is held for another', () => {
    const holds = new Holds()
    holds.add(held(100))
    holds.add(held(1_000))
    assert.equal(holds.at(0), 1_100)
    assert.equal(holds.at(600), 400)
  })
})

// The price of a request: by its subject, by its route, and where nothing is known.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Histories, RoutePrice, learnPrice, priceOf } from '../../../lib/throttle/budget/price'
import { assertIs, atMost, between, above } from '../../support/until'

const LIMIT_US = 18_000_000

/** Subjects with their histories. */
class Prices {
  readonly #histories = new Map<string, Histories>()

  of(route: RoutePrice, subject: string, limitUs: number): number {
    return priceOf(route, this.#histories.get(subject), limitUs)
  }

  learn(route: RoutePrice, subject: string, us: number): void {
    this.#histories.set(subject, learnPrice(route, subject, this.#histories.get(subject), us))
  }
}

describe('priceOf(), where nothing is known', () => {
  it('asks for half of a small limit, and for three seconds of a large one', () => {
    assert.equal(new Prices().of(new RoutePrice(), 'ada', 1_000_000), 500_000)
    assert.equal(new Prices().of(new RoutePrice(), 'ada', LIMIT_US), 3_000_000)
  })

  it('asks for half as much with each request and subject that is known', () => {
    const [prices, route] = [new Prices(), new RoutePrice()]
    prices.learn(route, 'ada', 0)
    assert.equal(prices.of(route, 'bob', LIMIT_US), 3_000_000 / 2)
    assert.equal(prices.of(route, 'ada', LIMIT_US), 3_000_000 / 4)
  })
})

describe("priceOf(), by a subject's own history", () => {
  it('follows the longest of the latest eight at least and sixteen at most, with an eighth more', () => {
    const us = fc.integer({ min: 0, max: 4_000_000 })
    fc.assert(
      fc.property(fc.array(us, { minLength: 8, maxLength: 60 }), (all) => {
        const [prices, route] = [new Prices(), new RoutePrice()]
        for (const each of all) prices.learn(route, 'ada', each)
        const price = prices.of(route, 'ada', LIMIT_US)
        const [least, most] = [8, 16].map((n) => Math.ceil(Math.max(...all.slice(-n)) * 1.125)) as [number, number]
        assertIs(price, between(least, most), `${price} is not between ${least} and ${most}`)
      }),
    )
  })

  it('counts alone from the eighth request on, whatever the route takes others', () => {
    const [prices, route] = [new Prices(), new RoutePrice()]
    for (let n = 0; n < 32; n++) prices.learn(route, `slow-${n}`, 10_000_000)
    for (let n = 0; n < 7; n++) prices.learn(route, 'ada', 40_000)
    assertIs(prices.of(route, 'ada', LIMIT_US), above(100_000))
    prices.learn(route, 'ada', 40_000)
    assert.equal(prices.of(route, 'ada', LIMIT_US), 45_000)
  })

  it('is kept for each route apart, of the eight that were used last', () => {
    const prices = new Prices()
    const routes = Array.from({ length: 9 }, () => new RoutePrice())
    const [first, second, ...others] = routes as [RoutePrice, RoutePrice, ...RoutePrice[]]
    for (let n = 0; n < 8; n++) for (const route of [first, second]) prices.learn(route, 'ada', 40_000)
    assert.equal(prices.of(others[0] as RoutePrice, 'ada', LIMIT_US), 3_000_000)
    for (const route of others) prices.learn(route, 'ada', 10)
    assertIs(prices.of(first, 'ada', LIMIT_US), above(45_000), 'forgotten')
    assert.equal(prices.of(second, 'ada', LIMIT_US), 45_000)
  })
})

describe("priceOf(), by a route's subjects", () => {
  it('never exceeds the limit nor falls below zero, and is whole', () => {
    const took = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 120_000_000 }))
    fc.assert(
      fc.property(fc.array(took, { maxLength: 200 }), fc.integer({ min: 1_000, max: LIMIT_US }), (all, limitUs) => {
        const [prices, route] = [new Prices(), new RoutePrice()]
        for (const [subject, us] of all) prices.learn(route, `s${subject}`, us)
        for (const subject of ['s0', 'fresh']) {
          const price = prices.of(route, subject, limitUs)
          assert.ok(Number.isInteger(price) && price >= 0 && price <= limitUs, `${price} of ${limitUs}`)
        }
      }),
    )
  })

  it('law: a route says the same however often it was asked before', () => {
    const took = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.oneof(fc.integer({ min: 0, max: 9 }), fc.nat()))
    fc.assert(
      fc.property(fc.array(took, { maxLength: 120 }), (all) => {
        const [often, once] = [new RoutePrice(), new RoutePrice()]
        for (const [subject, us] of all) {
          for (const route of [often, once]) route.learn(`s${subject}`, us)
          often.us(0)
        }
        assert.equal(often.us(1_000), once.us(1_000))
      }),
      { numRuns: 500 },
    )
  })

  it('law: however slow one subject is, and however often it asks, a fresh one pays no more than cold', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1_000, max: 200_000 }),
        fc.integer({ min: 1, max: 50 }),
        (others, usualUs, times) => {
          const [prices, route] = [new Prices(), new RoutePrice()]
          for (let n = 0; n < others; n++) prices.learn(route, `user-${n}`, usualUs)
          for (let n = 0; n < times; n++) prices.learn(route, 'slow', 20_000_000)
          const price = prices.of(route, 'fresh', LIMIT_US)
          assertIs(price, atMost(3_000_000))
          if (others >= 7) assertIs(price, atMost(usualUs * 1.25), `${price} where ${others} take ${usualUs}`)
        },
      ),
    )
  })

  it('counts a subject once, also one of so many routes that its own history is forgotten again and again', () => {
    const prices = new Prices()
    const routes = Array.from({ length: 12 }, () => new RoutePrice())
    const [route] = routes as [RoutePrice]
    for (let n = 0; n < 10; n++) prices.learn(route, `user-${n}`, 40_000)
    for (let n = 0; n < 100; n++) for (const each of routes) prices.learn(each, 'slow', 20_000_000)
    assertIs(prices.of(route, 'fresh', LIMIT_US), atMost(50_000))
  })

  it('says enough of a newcomer where many subjects of one block are known', () => {
    const route = new RoutePrice()
    for (let n = 0; n < 32; n++) learnPrice(route, 'office', undefined, 1_400_000)
    assert.equal(priceOf(route, undefined, LIMIT_US), 1_443_750)
  })

  it('law: who knows where it stands is found there, or it is not there any more', () => {
    const took = fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 1_000_000 }))
    fc.assert(
      fc.property(fc.array(took, { maxLength: 300 }), (all) => {
        const [searched, told] = [new RoutePrice(), new RoutePrice()]
        const places = new Map<number, number>()
        for (const [subject, us] of all) {
          const found = searched.learn(`user-${subject}`, us, places.has(subject) ? -1 : undefined)
          const place = told.learn(`user-${subject}`, us, places.get(subject))
          assert.equal(place, found)
          places.set(subject, place)
          assert.equal(told.us(500_000), searched.us(500_000))
        }
      }),
    )
  })
})

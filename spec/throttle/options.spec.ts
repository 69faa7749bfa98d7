// Wrong options of throttle() throw and are named.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { redisStore, throttle } from '../../lib'
import { optionNames } from '../support/option-names'

// The text of the error for each wrong option: corpora/wrong-calls.json, by messages.spec.ts.
describe('throttle() throws at startup, naming the option', () => {
  it('for every option, and every option within', () => {
    const nothing = [null, -1, NaN, [null], Symbol('x'), { other: [null] }, 9n]
    const within = (name: string) => optionNames((held) => throttle({ [name]: held })).map((held) => [name, held])
    const names = optionNames((options) => throttle(options))
    const paths = [...names.map((name) => [name]), ...['wait', 'overload', 'headers'].flatMap(within)]
    assert.ok(paths.length > names.length && names.includes('overload'))
    for (const [name, held] of paths as [string, string?][]) {
      for (const value of nothing) {
        assert.throws(
          () => throttle({ [name]: held === undefined ? value : { [held]: value } }),
          (err: Error) => (err instanceof TypeError || err instanceof RangeError) && err.message.includes(held ?? name),
          `${name} ${held}: ${inspect(value)}`,
        )
      }
    }
  })

  it('and where two windows of one store mean different limits by one name', async () => {
    const store = redisStore('redis://127.0.0.1:1')
    const first = throttle({ store, name: 'search', limitMs: 5_000 })
    assert.throws(
      () => throttle({ store, name: 'search', limitMs: 6_000 }),
      /two throttles have a window named 'search', one of 5000 ms in 60000 ms, one of 6000 ms in 60000 ms/,
    )
    const second = throttle({ store, name: 'search', limitMs: 5_000 })
    await Promise.all([first.close(), second.close()])
    assert.throws(() => throttle({ store }), /store: it was closed with the last throttle that used it/)
  })
})

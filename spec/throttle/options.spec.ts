import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { type ThrottleOptions, redisStore, throttle } from '../../lib'
import { optionNames } from '../support/option-names'

/** What is wrong, and what the error says of it: each names the option and shows the value. */
const WRONG: [options: unknown, error: RegExp][] = [
  [null, /throttle\(\) takes an object of options; received null/],
  [[], /throttle\(\) takes an object of options/],
  [
    { limit: 5 },
    /throttle\(\) has no option "limit": the limit is milliseconds of work, not a number of requests: 5 requests of 180 ms are limitMs: 900\. It is an option of express-rate-limit/,
  ],
  [{ limitMs: 0 }, /limitMs must be a whole number from 1 to 32 × windowMs, or a function of the request; received 0/],
  [{ limitMs: -1 }, /limitMs .* received -1/],
  [{ limitMs: 1.5 }, /limitMs .* received 1.5/],
  [{ limitMs: NaN }, /limitMs .* received NaN/],
  [{ limitMs: Infinity }, /limitMs .* received Infinity/],
  [{ limitMs: '18000' }, /limitMs .* received '18000'/],
  [
    { limitMs: 1_920_001 },
    /limitMs must be .* 32 × windowMs, .*: at most 1,920,000 with windowMs: 60000; received 1920001/,
  ],
  [
    { routes: { '/tree': { limitMs: 321, windowMs: 10 } } },
    /routes\['\/tree'\]: limitMs must be .* at most 320 with windowMs: 10; received 321/,
  ],
  [{ concurrency: 0 }, /concurrency must be a whole number from 1 to 1,000, or a function of the request; received 0/],
  [{ concurrency: 1_001 }, /concurrency .* received 1001/],
  [{ concurrency: Infinity }, /concurrency .* received Infinity/],
  [{ routes: { '/tree': { limitMs: 5, concurrency: 1.5 } } }, /routes\['\/tree'\]: concurrency must be/],
  [{ windowMs: 60 }, /limitMs must be .* at most 1,920 with windowMs: 60; received 18000/],
  [{ windowMs: 0 }, /windowMs must be a whole number from 10 to 2,678,400,000; received 0/],
  [{ windowMs: 2 ** 32 }, /windowMs .* received 4294967296/],
  [{ name: '' }, /name must be 1 to 128 printable ASCII characters.*received ''/],
  [{ name: 'a"b' }, /name must be/],
  [{ name: 'a\nb' }, /name must be/],
  [{ name: 7 }, /name must be .*received 7/],
  [{ routes: null }, /routes must be an object; received null/],
  [{ routes: { tree: false } }, /routes: a key is '\/path' or 'METHOD \/path'; received 'tree'/],
  [{ routes: { 'get /tree': false } }, /routes: a key is .* received 'get \/tree'/],
  [{ routes: { 'GOT /tree': false } }, /routes: a key is .* received 'GOT \/tree'/],
  [{ routes: { '/tree': true } }, /routes\['\/tree'\] takes an object of options: .*; received true/],
  [{ routes: { '/tree': {} } }, /routes\['\/tree'\]: limitMs is missing: it must be a whole number/],
  [{ routes: { '/tree': { limitMs: 0, windowMs: 50 } } }, /routes\['\/tree'\]: limitMs must be .* received 0/],
  [{ routes: { '/tree': { limitMs: 5, windowMs: 50, limt: 1 } } }, /routes\['\/tree'\] has no option "limt"/],
  [{ routes: { '/tree/(': { limitMs: 5, windowMs: 50 } } }, /routes: Express does not take the path "\/tree\/\("/],
  [
    { routes: { '/a': { limitMs: 5, windowMs: 50, name: 'default' } }, store: 'memory' },
    /store must be a store of redisStore\(\); received a text: write store: redisStore\('redis:/,
  ],
  [{ store: {} }, /store must be a store of redisStore\(\); received an object without names: write store: redisStore/],
  [{ subject: 'ip' }, /subject must be a function; received 'ip'/],
  [{ clientWaitMs: -1 }, /clientWaitMs must be a whole number from 0 to 86,400,000; received -1/],
  [{ carryOvershoot: 'yes' }, /carryOvershoot must be true or false; received 'yes'/],
  [{ eventStreams: 'all' }, /eventStreams must be 'header' or 'whole'; received 'all'/],
  [{ routes: { '/tree': { limitMs: 5, eventStreams: 'all' } } }, /routes\['\/tree'\]: eventStreams must be 'header'/],
  [{ onOutage: 'open' }, /onOutage must be 'local' or 'closed'; received 'open'/],
  [{ onOutage: 'closed' }, /onOutage: "closed" needs a store/],
  [{ dryRun: 'yes' }, /dryRun must be true or false; received 'yes'/],
  [{ headers: { throtle: true } }, /headers has no option "throtle"/],
  [{ headers: { throttle: 'never' } }, /headers\.throttle must be true or false or 'always'; received 'never'/],
  [{ headers: true }, /headers takes an object of options: .*; received true/],
  [{ headers: { rateLimit: 1 } }, /headers\.rateLimit must be true or false; received 1/],
  [{ onDenied: true }, /onDenied must be a function; received true/],
  [{ clock: 5 }, /clock must be a clock.*received 5/],
  [{ clock: { now: () => 0 } }, /clock must be a clock, as manualClock\(\) makes one; received/],
]

describe('throttle() throws at startup, naming the option and the value', () => {
  for (const [options, error] of WRONG) {
    it(error.source, () => {
      assert.throws(
        () => throttle(options as ThrottleOptions),
        (err) => (err instanceof TypeError || err instanceof RangeError) && error.test(err.message),
      )
    })
  }

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

describe('redisStore() throws at startup', () => {
  const wrong: [args: unknown[], error: RegExp][] = [
    [[undefined], /redisStore takes an ioredis client or a redis:\/\/ URL; received undefined/],
    [[{}], /redisStore takes an ioredis client .* received an object without names/],
    [['localhost:6379'], /redisStore takes .* received one without its scheme: add redis:/],
    [['redis://localhost', { prefx: 'a' }], /redisStore has no option "prefx"; did you mean "prefix"\?/],
    [['redis://localhost', { prefix: '{a}:' }], /prefix must be .* of at most 64 characters without braces/],
    [['redis://localhost', { prefix: 'a' }], /prefix must be a string that ends in a colon.*; received 'a'/],
    [['redis://localhost', { prefix: 5 }], /prefix must be .* received 5/],
  ]
  for (const [args, error] of wrong) {
    it(error.source, () => {
      assert.throws(() => redisStore(...(args as [string])), error)
    })
  }

  it('and never shows a URL, which may hold a password', () => {
    assert.throws(
      () => redisStore('http://user:s3cret@localhost'),
      (err) => err instanceof TypeError && !err.message.includes('s3cret'),
    )
  })
})

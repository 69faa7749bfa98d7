// The fields that a client reads: lists of windows, Retry-After, and nothing from what is malformed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { retryAfterMs, toldWindows } from '../../lib/client/response-fields'

const of = (fields: Record<string, string>) => new Headers(fields)
const POLICY = '"default";q=18000;qu="milliseconds";w=60, "/search";q=5000;qu="milliseconds";w=10'

describe('what a response tells its client', () => {
  it('at most eight windows, and parameters in any spelling that RFC 9651 allows', () => {
    const list = (item: (name: string) => string) => Array.from({ length: 50 }, (_, i) => item(`w${i}`)).join(' ,\t')
    const fields = {
      'RateLimit-Policy': list((name) => `"${name}";q=18000;qu="milliseconds"; w=60;p*;x.y="a,\\"b"`),
      RateLimit: list((name) => `"${name}" ;  r=17;t=4`),
    }
    const told = toldWindows(of(fields))
    assert.equal(told.length, 8)
    assert.deepEqual(told[7], { name: 'w7', limitMs: 18_000, leftMs: 17, endsInMs: 4_000, windowMs: 60_000 })
  })

  it('the one window of X-THROTTLE-* where there are no such fields, or they count something else', () => {
    const throttle = { 'X-THROTTLE-WINDOW-SIZE': '1000', 'X-THROTTLE-MILLIS-LEFT': '250' }
    const window = { name: '', limitMs: 1_000, leftMs: 250, endsInMs: undefined, windowMs: undefined }
    assert.deepEqual(toldWindows(of(throttle)), [window])
    const requests = { 'RateLimit-Policy': '"burst";q=100;w=60', RateLimit: '"burst";r=50;t=30' }
    assert.deepEqual(toldWindows(of({ ...throttle, ...requests })), [window])
    assert.deepEqual(toldWindows(of(requests)), [])
  })

  for (const [field, value] of [
    ['RateLimit', 'r=5'],
    ['RateLimit', '"default"'],
    ['RateLimit', '"default";r=-5;t=1'],
    ['RateLimit', '"default";r=1e9;t=1'],
    ['RateLimit', `${'"a";r=1,'.repeat(5_000)}"`],
    ['RateLimit', '"default";r=5;t=1;'],
    ['RateLimit', '"default";r=5;t=1 "/search";r=0'],
    ['RateLimit', `"${'a'.repeat(200)}";r=5;t=1`],
    // A regular expression that is tried again at each character would take minutes for these.
    ['RateLimit', '"\\'.repeat(500_000)],
    ['RateLimit', `"default"${' '.repeat(1_000_000)}x`],
    ['RateLimit', `"default"${';a=1'.repeat(250_000)};`],
    ['RateLimit-Policy', '"default";q=x;qu="milliseconds"'],
    ['X-THROTTLE-MILLIS-LEFT', 'many'],
  ] as const) {
    it(`nothing where ${field} is ${value.slice(0, 30)}`, () => {
      const fields = { 'RateLimit-Policy': POLICY, RateLimit: '"default";r=5;t=1', [field]: value }
      const told = field.startsWith('X') ? { 'X-THROTTLE-WINDOW-SIZE': '1000', [field]: value } : fields
      assert.deepEqual(toldWindows(of(told)), [])
    })
  }

  it('RFC 9110 §10.2.3: Retry-After in seconds or as a date, and nothing from anything else', () => {
    const now = Date.UTC(2026, 10, 21, 12)
    for (const [value, ms] of [
      ['0', 0],
      ['17', 17_000],
      ['Sat, 21 Nov 2026 12:00:05 GMT', 5_000],
      ['Saturday, 21-Nov-26 12:00:05 GMT', 5_000],
      ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
      ['soon', undefined],
      ['-5', undefined],
      ['1.5', undefined],
      ['', undefined],
    ] as const) {
      assert.equal(retryAfterMs(of({ 'Retry-After': value }), now), ms, value)
    }
    assert.equal(retryAfterMs(of({}), now), undefined)
  })
})

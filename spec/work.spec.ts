// The work of reading what a stranger sends at most doubles with its length.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { findCredentials } from '../lib/bearer/credentials/credentials'
import { readJws } from '../lib/bearer/credentials/jws'
import { scopeOf } from '../lib/bearer/session/scope'
import { isPlainPath, withoutParameters } from '../lib/http/request/dot-segments'
import { errorBody } from '../lib/http/answer/error-body'
import { readJsonObject } from '../lib/http/json'
import { readCookie } from '../lib/http/request/read-cookie'
import { memoryOAuthStore } from '../lib/oauth'
import { Cookies } from '../lib/oauth/cookie'
import { redirectUriFault } from '../lib/oauth/directories/redirect-uri'
import { acceptedLocales, requestedLocales } from '../lib/oauth/pages/page-texts'
import { readClaimsRequest } from '../lib/oauth/parameters/claims-request'
import { readClientMetadata } from '../lib/oauth/parameters/client-metadata'
import { Params } from '../lib/oauth/parameters/params'
import { parseScope } from '../lib/oauth/parameters/requested-scope'
import { manualClock } from '../lib/testing'
import { type Work, workOf } from './support/work'
import { assertIs, atMost, above } from './support/until'

const base64url = (text: string) => Buffer.from(text).toString('base64url')
const metadata = (more: object) => ({ redirect_uris: ['https://a.test/'], ...more })
const cookies = new Cookies('https://ident.test')

/** Reads what a stranger sends. Each input is of about `n` bytes. */
const PARSERS: Readonly<Record<string, readonly [input: (n: number) => string, read: (text: string) => unknown]>> = {
  'a form of one long value': [(n) => `a=${'x'.repeat(n)}`, form],
  'a form of escapes': [(n) => `a=${'%41+'.repeat(n / 4)}`, form],
  'a form of names': [(n) => Array.from({ length: 200 }, (_, i) => `${i}${'n'.repeat(n / 200)}`).join('&'), form],
  'a form that repeats a name': [(n) => `a=${'x'.repeat(n / 200)}&`.repeat(199), form],
  'a form of too many pairs': [(n) => 'a&'.repeat(n / 2), form],
  'a form of brackets': [(n) => `a${'['.repeat(n)}`, form],
  scope: [(n) => 'a '.repeat(n / 2), parseScope],
  'scopes that differ': [(n) => Array.from({ length: n / 6 }, (_, i) => `s${i}`).join(' '), parseScope],
  ui_locales: [(n) => 'de-'.repeat(n / 3), requestedLocales],
  'many ui_locales': [(n) => 'de '.repeat(n / 3), requestedLocales],
  'Accept-Language': [(n) => 'de;q=0.5,'.repeat(n / 9), acceptedLocales],
  Accept: [(n) => 'application/json;q=0.1,'.repeat(n / 23), (text) => errorBody(text, 429, 'x', undefined, 'standard')],
  'Accept of parameters': [
    (n) => `application/json${';a=b'.repeat(n / 4)}`,
    (text) => errorBody(text, 429, 'x', undefined, 'standard'),
  ],
  Authorization: [(n) => `Bearer ${'a'.repeat(n)}`, authorization],
  'Authorization of spaces': [(n) => `Bearer ${' '.repeat(n)}x`, authorization],
  'Authorization of commas': [(n) => `Bearer ${'a, '.repeat(n / 3)}`, authorization],
  Cookie: [(n) => 'a=b; '.repeat(n / 5), (text) => readCookie(text, 'session')],
  'Cookie of ours': [(n) => 'tollgate-browserabcdef-x=y;'.repeat(n / 27), (text) => cookies.browsers(text)],
  'Cookie without a pair': [(n) => ';'.repeat(n), (text) => cookies.browsers(text)],
  'JSON of members': [(n) => `{${Array.from({ length: n / 12 }, (_, i) => `"m${i}":1`).join()}}`, jsonOf],
  'JSON of depth': [(n) => '{"a":'.repeat(n / 5), jsonOf],
  'JSON of a list': [(n) => `{"a":[${'1,'.repeat(n / 2)}1]}`, jsonOf],
  'JSON of escapes': [(n) => `{"a":"${'\\"'.repeat(n / 2)}"}`, jsonOf],
  'a JWT of dots': [(n) => '.'.repeat(n), readJws],
  'a JWT of claims': [(n) => `${base64url('{"alg":"RS256"}')}.${base64url(`{"a":"${'x'.repeat(n)}"}`)}.YQ`, readJws],
  'scopes of a token': [(n) => 'a '.repeat(n / 2), (scope) => scopeOf({ scope })],
  'the parameter claims': [
    (n) => `{"userinfo":{${Array.from({ length: n / 14 }, (_, i) => `"c${i}":null`).join()}}}`,
    (text) => readClaimsRequest(text, ['email', 'name'], '1'),
  ],
  'metadata of lists': [
    (n) => JSON.stringify(metadata({ grant_types: [...Array<string>(n / 4).fill('x'), 'authorization_code'] })),
    (text) => readClientMetadata(JSON.parse(text) as Record<string, unknown>, {}),
  ],
  'metadata of a scope': [
    (n) => 'a '.repeat(n / 2),
    (scope) => refused(() => readClientMetadata(metadata({ scope }), {})),
  ],
  'metadata of members': [
    (n) => JSON.stringify(metadata(Object.fromEntries(Array.from({ length: n / 8 }, (_, i) => [`m${i}`, null])))),
    (text) => readClientMetadata(JSON.parse(text) as Record<string, unknown>, {}),
  ],
  'a redirect URI': [(n) => `https://a.test/${':1'.repeat(n / 2)}`, (uri) => redirectUriFault(uri)],
  'a redirect URI of dots': [(n) => `https://${'a.'.repeat(n / 2)}test/`, (uri) => redirectUriFault(uri)],
  'a path of dots': [(n) => '/%252e%252e'.repeat(n / 11), isPlainPath],
  'a path of parameters': [(n) => '/;%25253b%25'.repeat(n / 12), withoutParameters],
}

describe('the work of reading', () => {
  for (const [what, [input, read]] of Object.entries(PARSERS)) {
    it(`${what} at most doubles with its length`, () => {
      const [once, twice] = [8_192, 16_384].map((n) => {
        const text = input(n)
        return workOf(() => refused(() => read(text)))
      }) as [Work, Work]
      assertIs(twice.blocks, atMost(2.1 * once.blocks + 50), `blocks: ${once.blocks}, then ${twice.blocks}`)
      assertIs(twice.bytes, atMost(2.2 * once.bytes + 20_000), `bytes: ${once.bytes}, then ${twice.bytes}`)
    })
  }

  it('is counted: what copies its list for each member is found, and what looks through it', () => {
    const copying = (text: string) => text.split('&').reduce<string[]>((all, one) => [...all, one], [])
    const [once, twice] = [1_000, 2_000].map((n) => workOf(() => copying('a&'.repeat(n)))) as [Work, Work]
    assertIs(twice.bytes, above(3 * once.bytes), `${once.bytes}, ${twice.bytes}`)
  })
})

describe('the work of a write to memoryOAuthStore()', () => {
  it('is the same where twenty times as many entries are kept, full or expiring', async () => {
    const worked = async (entries: number) => {
      const clock = manualClock()
      const store = memoryOAuthStore({ clock, maxBytes: 200 * entries })
      for (let i = 0; i < entries; i++) await store.set(`old:${i}`, 'v', 1_000_000 + (i % 10)).catch(() => undefined)
      let refusals = 0
      const write = () => void store.set('new', 'v'.repeat(500), 1_000).catch(() => refusals++)
      const full = workOf(write)
      clock.advance(1_000_010)
      const expiring = workOf(write)
      await setImmediate()
      assert.equal(refusals, 3, 'only while it was full')
      return [full, expiring] as const
    }
    const [few, many] = [await worked(500), await worked(10_000)]
    many.forEach(({ blocks, bytes }, at) => {
      const once = few[at] as Work
      assertIs(blocks, atMost(once.blocks + 50), `blocks: ${once.blocks}, then ${blocks}`)
      assertIs(bytes, atMost(once.bytes + 20_000), `bytes: ${once.bytes}, then ${bytes}`)
    })
  })
})

function authorization(field: string): unknown {
  const headers = { authorization: field }
  return findCredentials({ method: 'GET', target: '/', origin: '', headers, form: undefined }, ['query'], true, 1e6)
}

function form(text: string): unknown {
  return Params.parse(text)
}

function jsonOf(text: string): unknown {
  return readJsonObject(Buffer.from(text))
}

function refused(read: () => unknown): unknown {
  try {
    return read()
  } catch (err) {
    return err
  }
}

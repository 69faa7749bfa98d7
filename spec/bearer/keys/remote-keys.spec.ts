import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Refusal } from '../../../lib/bearer/refusal/refusal'
import { manualClock } from '../../../lib/testing/index'
import { serveIssuer } from '../../support/issuer'
import { until } from '../../support/until'
import { a, api, b, source } from '../remote-issuer'

describe('requireBearer() with keys from the issuer', () => {
  it('finds the keys through OpenID Connect metadata (Discovery §4), once for all waiting requests', async () => {
    const { state, issuer, token } = await serveIssuer(a)
    const { ask } = await api({ issuer })
    const answers = await Promise.all([ask(token()), ask(token()), ask(token())])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.deepEqual(state.fetches, ['/.well-known/openid-configuration', '/keys'])
    assert.equal((await ask(token({ ...b, kid: 'a' }))).status, 401)
  })

  it('fetches the metadata again if keys cannot be fetched, at most once a minute', async () => {
    const clock = manualClock()
    const { state, issuer, token } = await serveIssuer(a)
    const { ask, bearer } = await api({ issuer, clock })
    const metadata = '/.well-known/openid-configuration'
    const fetched = async (afterMs: number) => {
      clock.advance(afterMs)
      await bearer.ready()
      return state.fetches.splice(0)
    }
    assert.deepEqual(await fetched(0), [metadata, '/keys'])
    state.instead = (req, res) => {
      if (req.url === '/moved') res.end(JSON.stringify({ keys: [a.jwk] }))
      else if (req.url === '/keys') res.writeHead(404).end()
      else return false
      return true
    }
    assert.deepEqual(await fetched(600_001), ['/keys'])
    assert.deepEqual(await fetched(1_000), [metadata, '/keys'])
    state.metadata = { jwks_uri: `${issuer}/moved` }
    assert.deepEqual(await fetched(30_000), ['/keys'])
    assert.deepEqual(await fetched(30_000), [metadata, '/moved'])
    assert.equal((await ask(token())).status, 200)
  })

  it('keys() lists the loaded keys, and reload() fetches them again', async () => {
    const { state, issuer, token } = await serveIssuer(a)
    const clock = manualClock()
    const { ask, bearer } = await api({ issuer, clock })
    assert.deepEqual(bearer.keys(), [])
    await bearer.ready()
    assert.deepEqual(bearer.keys(), [{ issuer, kid: 'a', algorithms: ['ES256'] }])
    assert.equal((await ask(token(a))).status, 200)
    state.keys = [b.jwk]
    assert.equal((await ask(token(a))).status, 200) // the set is fresh
    await bearer.reload()
    assert.deepEqual(
      bearer.keys().map(({ kid }) => kid),
      ['b'],
    )
    clock.advance(2_000) // from then on an unknown key is asked for at once
    assert.deepEqual([(await ask(token(a))).status, (await ask(token(b))).status], [401, 200])
    state.down = true
    await assert.rejects(
      bearer.reload(),
      /the keys of the issuer http.+ cannot be loaded: .+ answered 503: see the log/,
    )
    assert.equal((await ask(token(b))).status, 200)
    state.down = false
    await bearer.reload() // asks again at once, whatever was decided after the failure
  })

  it('uses the last good keys for lastGoodSec', async () => {
    const clock = manualClock()
    const { state, issuer, token } = await serveIssuer(a)
    const { ask, bearer } = await api({ issuer, clock, lastGoodSec: 100 })
    await bearer.ready()
    state.down = true
    clock.advance(700_000)
    assert.equal((await ask(token())).status, 200)
    clock.advance(1)
    assert.equal((await ask(token())).status, 503)
    state.down = false
    clock.advance(60_000)
    assert.equal((await ask(token())).status, 200)
  })

  it('fetches the keys before it answers, once the machine was suspended, and only the date has gone on', async () => {
    const clock = manualClock()
    const { state, issuer, token } = await serveIssuer(a)
    const { ask } = await api({ issuer, clock })
    const known = token()
    assert.equal((await ask(known)).status, 200)
    state.keys = [b.jwk]
    clock.setDate(clock.date() + 700_000)
    assert.equal((await ask(known)).status, 401)
  })

  it('takes the issuer as its metadata write it, with a slash at its end or without', async () => {
    const { state, issuer, token } = await serveIssuer(a)
    state.instead = (req, res) => {
      if (!req.url?.includes('openid')) return false
      res.end(JSON.stringify({ issuer: `${issuer}/`, jwks_uri: `${issuer}/keys` }))
      return true
    }
    const { ask } = await api({ issuer })
    assert.equal((await ask(token(a, { iss: `${issuer}/` }))).status, 200)
    assert.equal((await ask(token())).status, 401)
  })

  it('takes access tokens only (RFC 9068 §4) where the metadata say that there are no others, as our server’s do', async () => {
    const { state, issuer, token, typed } = await serveIssuer(a)
    for (const [types, untyped] of [
      [['at+jwt'], 401],
      [['at+jwt', 'jwt'], 200],
      [['jwt'], 200],
      ['at+jwt', 200],
      [undefined, 200],
    ] as const) {
      state.metadata = { access_token_typ_values_supported: types }
      const { ask } = await api({ issuer })
      assert.equal((await ask(token())).status, untyped, String(types))
      assert.equal((await ask(typed('at+jwt'))).status, 200)
    }
  })
})

describe('remoteKeys()', () => {
  it('refreshes in the background after four fifths of a set’s lifetime', async () => {
    const { state, find, clock, ask } = await source()
    state.headers = { 'cache-control': 'public, max-age=100' }
    assert.equal(await find('a'), 'a')
    clock.advance(80_000)
    assert.equal(await find('a'), 'a')
    for (let i = 0; i < 50; i++) await turn()
    assert.equal(state.fetches.length, 1)
    clock.advance(1)
    assert.ok(!(ask('a') instanceof Promise))
    while (state.fetches.length < 2) await turn()
  })

  it('takes the lifetime from Cache-Control, less the time in caches, within bounds', async () => {
    for (const [header, lifeMs, more = {}] of [
      ['max-age=100', 100_000],
      ['max-age=1', 60_000],
      ['no-store', 60_000],
      ['max-age=999999999', 3_600_000],
      ['private', 600_000],
      ['max-age=1200', 600_000, { age: '600' }],
      ['max-age=1200', 300_000, { secondsOld: 900 }],
      ['max-age=1200', 600_000, { age: '600', secondsOld: 300 }],
      ['max-age=1200', 1_200_000, { age: 'x', secondsOld: -900 }], // a server whose clock is ahead
    ] as readonly [string, number, { age?: string; secondsOld?: number }?][]) {
      const { state, find, clock, ask } = await source()
      const what = `${header} ${JSON.stringify(more)}`
      const { age, secondsOld } = more
      clock.setDate(1_800_000_000_000)
      state.headers = { 'cache-control': header, ...(age !== undefined && { age }) }
      state.instead = (_req, res) => {
        if (secondsOld !== undefined) res.setHeader('date', new Date(clock.date() - secondsOld * 1_000).toUTCString())
        return false
      }
      await find('a')
      clock.advance(lifeMs)
      assert.ok(!(ask('a') instanceof Promise), what)
      while (state.fetches.length < 2) await turn()
      await find('unknown')
      clock.advance(lifeMs + 1)
      assert.ok(ask('a') instanceof Promise, what)
    }
  })

  it('lets 500 requests of a block with unknown kids wait for the next fetch, and those of others, too', async () => {
    const { state, find, clock, ask } = await source()
    await find('a')
    for (const round of [1, 2]) {
      clock.advance(500)
      const waiting = Array.from({ length: 500 }, async (_, i) => ask(`forged-${i}`))
      assert.ok(waiting.every((one) => one instanceof Promise))
      assert.equal(((await ask('forged')) as Refusal).refused, 'keys_unavailable') // never a false 401
      waiting.push(Promise.resolve(ask('forged', { ip: '198.51.100.7', headers: {} } as never)))
      assert.ok(!(ask('a') instanceof Promise))
      clock.advance(1_499)
      for (let i = 0; i < 50; i++) await turn()
      assert.equal(state.fetches.length, round)
      clock.advance(1)
      for (const one of waiting) assert.deepEqual(await one, { refused: 'unknown_key' })
      assert.equal(state.fetches.length, 1 + round)
    }
  })

  it('serves by the last good set at once while the issuer hangs', async () => {
    const { state, find, clock, ask } = await source()
    await find('a')
    state.down = true
    clock.advance(600_001)
    assert.equal(await find('a'), 'a')
    state.instead = () => true
    clock.advance(1_000)
    assert.ok(!(ask('a') instanceof Promise))
    await until(() => state.fetches.length, 3)
    assert.ok(!(ask('a') instanceof Promise))
    clock.advance(5_000)
    assert.equal(await find('a'), 'a')
  })

  it('refuses a key of another algorithm once the set was fetched again, and one that is not accepted at once', async () => {
    const { state, find, clock, ask } = await source()
    await find('a')
    for (const algorithm of ['HS256', 'none']) assert.deepEqual(ask('a', algorithm), { refused: 'algorithm' })
    const later = ask('a', 'RS256')
    clock.advance(2_000)
    assert.deepEqual([await later, state.fetches.length], [{ refused: 'algorithm' }, 2])
    state.down = true
    clock.advance(600_001)
    assert.deepEqual(await ask('a', 'RS256'), { refused: 'algorithm' })
    assert.equal(await find('b'), 'keys_unavailable')
  })

  it('asks for JSON, and lets no timer of an answered fetch go on', async () => {
    let timers = 0
    const clock = manualClock()
    const counting = {
      ...clock,
      after(ms: number, fn: () => void) {
        timers++
        const cancel = clock.after(ms, fn)
        return () => (timers--, cancel())
      },
    }
    const { state, find } = await source(0, { clock: counting })
    let accept: string | undefined
    state.instead = (req) => ((accept = req.headers.accept), false)
    await find('a')
    assert.deepEqual([accept, timers], ['application/jwk-set+json, application/json', 0])
  })

  it('takes a thousand keys, and 2 MB', async () => {
    const { state, find } = await source()
    const keys: object[] = Array.from({ length: 1_000 }, (_, i) => ({ ...b.jwk, kid: `b-${i}` }))
    const room = 2_097_152 - JSON.stringify({ keys: [...keys.slice(1), { x: '' }] }).length
    state.instead = (_req, res) => {
      res.end(JSON.stringify({ keys: [...keys.slice(1), { x: 'x'.repeat(room) }] }))
      return true
    }
    assert.equal(await find('b-999'), 'b-999')
  })

  it('keeps unchanged keys, so that tokens verified with them stay cached', async () => {
    const { state, clock, ask } = await source()
    const before = await ask('a')
    state.keys = [b.jwk, a.jwk]
    clock.advance(600_001)
    assert.deepEqual(await ask('a'), before)
    state.keys = [{ ...b.jwk, kid: 'a' }]
    clock.advance(600_001)
    assert.notDeepEqual(await ask('a'), before)
  })

  it('refuses an unknown kid as keys_unavailable while the issuer is down or publishes no key', async () => {
    const { state, find, clock } = await source()
    await find('a')
    state.down = true
    clock.advance(2_000)
    assert.equal(await find('b'), 'keys_unavailable')
    assert.equal(await find('a'), 'a')
    state.down = false
    state.keys = []
    clock.advance(1_000)
    assert.equal(await find('b'), 'keys_unavailable')
  })

  const broken: readonly [string, (res: import('node:http').ServerResponse) => void, RegExp][] = [
    ['a redirect', (res) => res.writeHead(302, { location: '/elsewhere' }).end(), /answered 302/],
    ['another status', (res) => res.writeHead(404).end(), /answered 404/],
    ['what is no JSON', (res) => res.end('<html>'), /\/keys answered with something that is not JSON/],
    ['what is no object', (res) => res.end('[]'), /something else than a JSON object/],
    ['what is no JWK Set', (res) => res.end('{"keys":{}}'), /something else than a JWK Set/],
    [
      'too many keys',
      (res) => res.end(JSON.stringify({ keys: Array(1_001).fill(a.jwk) })),
      /has 1001 keys, and at most 1000/,
    ],
    ['more than 2 MB', (res) => res.end(`{"x":"${'x'.repeat(2_097_152)}"}`), /\/keys is larger than 2097152 bytes/],
    [
      'half an answer',
      (res) => (res.writeHead(200, { 'content-length': '99' }).write('{'), res.destroy()),
      /could not/,
    ],
  ]
  for (const [title, answer, why] of broken) {
    it(`treats ${title} as an outage`, async () => {
      const { state, ask } = await source()
      state.instead = (_req, res) => (answer(res), true)
      const refusal = (await ask('a')) as Refusal
      assert.equal(refusal.refused, 'keys_unavailable')
      assert.match(String(refusal.cause), why)
      assert.deepEqual(state.fetches, ['/keys'])
    })
  }

  it('waits 5 s for a response, its body included', async () => {
    for (const begin of [false, true]) {
      const { state, clock, ask } = await source()
      const asked = new Promise<void>((resolve) => {
        state.instead = (_req, res) => {
          if (begin) res.write('{"keys":')
          resolve()
          return true
        }
      })
      const found = ask('a')
      await asked
      for (let i = 0; i < 50; i++) await turn()
      clock.advance(4_999)
      await turn()
      clock.advance(1)
      const { refused, cause } = (await found) as Refusal
      assert.equal(refused, 'keys_unavailable')
      assert.equal(((cause as Error).cause as Error).message, 'no answer within 5000 ms')
    }
  })

  it('retries after failures at growing intervals with jitter, and gives the time until then as retryAfterSec', async () => {
    for (const [random, intervals] of [
      [0, [0.5, 1, 2, 4, 8, 16, 30, 30, 30]],
      [1, [1, 2, 4, 8, 16, 32, 60, 60, 60]],
    ] as const) {
      const { state, clock, ask } = await source(0, { random: () => random })
      const retryAfterSec = async () => ((await ask('a')) as Refusal).retryAfterSec
      state.down = true
      for (const [i, seconds] of intervals.entries()) {
        assert.equal(await retryAfterSec(), Math.ceil(seconds))
        assert.equal(state.fetches.length, i + 1)
        clock.advance(seconds * 1_000 - 1)
        assert.equal(await retryAfterSec(), 1)
        assert.equal(state.fetches.length, i + 1)
        clock.advance(1)
      }
    }
  })
})

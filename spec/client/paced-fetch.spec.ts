// pacedFetch() stays inside the budget, asks again when it may, and learns from its own origin alone.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type Express } from 'express'
import { throttle } from '../../lib'
import { pacedFetch } from '../../lib/client'
import { manualClock } from '../../lib/testing'
import { serve } from '../support/serve'
import { assertIs, atLeast, atMost, below, between, above, until } from '../support/until'
import { DATE, WINDOW, api, passing } from './paced-api'

const retryAfter = (app: Express, status: number, times: number, field?: string) => {
  let left = times
  app.all('/busy', (_req, res) => {
    if (left-- <= 0) return void res.send('ok')
    if (field !== undefined) res.set('Retry-After', field)
    res.sendStatus(status)
  })
}

describe('pacedFetch() stays inside the budget', () => {
  it('waits for the next window where nothing is left of this one, and is never refused', async () => {
    const { clock, client, retries, seen } = await api((app, clock) => {
      app.use(throttle({ ...WINDOW, clock, headers: { rateLimit: true } }))
    })
    const fetch = client()
    for (let i = 0; i < 9; i++) {
      const [response] = await passing(clock, fetch('/work/300'))
      assert.equal(response.status, 200)
      await response.arrayBuffer()
    }
    assert.deepEqual(retries, [])
    assert.equal(seen.length, 9)
    assertIs(clock.now(), above(10_000))
    assertIs(clock.now(), below(40_000))
  })

  it('sends the first request alone, and then no more at once than there is time for', async () => {
    let [inFlight, most, first] = [0, 0, 0]
    const held: (() => void)[] = []
    const { clock, client } = await api((app, clock) => {
      app.use(throttle({ ...WINDOW, clock, headers: { rateLimit: true } }))
      app.get('/held', (_req, res) => {
        most = Math.max(most, ++inFlight)
        first ||= inFlight
        held.push(() => {
          inFlight--
          res.end()
        })
      })
    })
    const fetch = client({ concurrency: 50 })
    const all = Promise.all(Array.from({ length: 20 }, () => fetch('/held')))
    await until(() => held.length, above(0))
    assert.equal(held.length, 1, 'nothing is known before the first answer')
    const finish = () => {
      clock.advance(100)
      for (const end of held.splice(0)) end()
      return new Promise((resolve) => setImmediate(resolve))
    }
    let done = false
    void all.then(() => (done = true))
    while (!done) await finish()
    for (const { status } of await all) assert.equal(status, 200)
    assertIs(most, above(1), `${most} at once of 100 ms each, where 900 ms are left`)
    assertIs(most, atMost(5), `${most} at once of 100 ms each, where 900 ms are left`)
  })

  it('one route whose own window is spent does not keep the others waiting', async () => {
    const { clock, client } = await api((app, clock) => {
      const routes = { '/work/400': { limitMs: 300, windowMs: 60_000 } }
      app.use(throttle({ ...WINDOW, clock, routes, headers: { rateLimit: true } }))
    })
    const fetch = client()
    await passing(clock, fetch('/work/1'))
    await passing(clock, fetch('/work/400'))
    const slow = fetch('/work/400')
    const [response, took] = await passing(clock, fetch('/work/1'))
    assert.equal(response.status, 200)
    assertIs(took, below(1_000))
    const [late, waited] = await passing(clock, slow)
    assert.equal(late.status, 200)
    assertIs(waited, above(10_000))
  })

  /** Of a service in virtual time: what it spends of a window, by whomever, and whether it refuses. */
  function service(limitMs: number, windowMs: number) {
    const clock = manualClock(DATE)
    let [usedMs, opened] = [0, 0]
    const roll = () => {
      const began = Math.floor(clock.now() / windowMs)
      if (began !== opened) [usedMs, opened] = [0, began]
    }
    const headers = (took: number) => ({
      'X-Processing-Time': String(took),
      'RateLimit-Policy': `"a";q=${limitMs};qu="milliseconds";w=${windowMs / 1_000}`,
      RateLimit: `"a";r=${Math.max(0, limitMs - usedMs)};t=${Math.ceil((windowMs - (clock.now() % windowMs)) / 1_000)}`,
    })
    const served: number[] = []
    const spend = (ms: number) => {
      roll()
      usedMs += ms
    }
    const fetch = (input: unknown) =>
      new Promise<Response>((resolve) => {
        const ms = Number(/\d+$/.exec(String(input)))
        roll()
        if (usedMs > limitMs) {
          const seconds = Math.ceil((windowMs - (clock.now() % windowMs)) / 1_000)
          return resolve(new Response(null, { status: 429, headers: { 'Retry-After': String(seconds) } }))
        }
        clock.after(ms, () => {
          spend(ms)
          served.push(ms)
          resolve(new Response(null, { headers: headers(ms) }))
        })
      })
    return { clock, fetch: fetch as typeof globalThis.fetch, spend, served }
  }

  for (const [what, others] of [
    ['nobody else spends any more', () => undefined],
    ['another tab of the user polls on', (spend: (ms: number) => void, now: number) => now % 150 === 0 && spend(20)],
  ] as const) {
    it(`sends one alone in a fresh window, whatever it costs, after others were seen to spend: ${what}`, async () => {
      const { clock, fetch: send, spend, served } = service(1_000, 2_000)
      const fetch = pacedFetch({ clock, fetch: send })
      const ticking = async <T>(promise: Promise<T>) => {
        let isDone = false
        void promise.finally(() => (isDone = true))
        while (!isDone) {
          others(spend, Math.floor(clock.now()))
          clock.advance(1)
          await new Promise((resolve) => setImmediate(resolve))
        }
        return promise
      }
      await ticking(fetch('https://a.test/600'))
      for (let i = 0; i < 8; i++) {
        spend(60)
        await ticking(fetch('https://a.test/20'))
      }
      const began = clock.now()
      for (let i = 0; i < 3; i++) assert.equal((await ticking(fetch('https://a.test/600'))).status, 200)
      assert.equal(served.filter((ms) => ms === 600).length, 4)
      assertIs(clock.now() - began, below(4 * 2_000), `${clock.now() - began} ms, which are more than four windows`)
    })
  }

  it('sends a request that costs most of a window, though small ones of another route are asked all along', async () => {
    const { clock, fetch: send, served } = service(1_000, 2_000)
    const fetch = pacedFetch({ clock, fetch: send, concurrency: 2 })
    let isDone = false
    const poll = async () => {
      while (!isDone) await fetch('https://a.test/20')
    }
    const polls = (async () => {
      await fetch('https://a.test/600')
      await Promise.all([poll(), poll(), fetch('https://a.test/600').finally(() => (isDone = true))])
    })()
    for (let ms = 0; ms < 10_000 && !isDone; ms++) {
      clock.advance(1)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.ok(isDone, JSON.stringify(served))
    for (let ms = 0; ms < 4_000; ms++) clock.advance(1)
    void polls
  })

  it('sends at once what half of the time left pays for, and takes no more of an answer that is older than the last', async () => {
    const clock = manualClock(DATE)
    const open: ((leftMs: number) => void)[] = []
    const told = { 'X-Processing-Time': '100', 'X-Throttle-Window-Size': '1000' }
    const answered = (leftMs: number) =>
      new Response('', { headers: { ...told, 'X-Throttle-Millis-Left': `${leftMs}` } })
    const send = () => new Promise<Response>((resolve) => open.push((leftMs) => resolve(answered(leftMs))))
    const fetch = pacedFetch({ clock, fetch: send })
    for (let i = 0; i < 9; i++) void fetch('https://api.test/')
    await until(() => open.length, 1)
    const sentAfter = async (leftMs: number) => {
      open.shift()?.(leftMs)
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      return open.length
    }
    assert.equal(await sentAfter(900), 2, 'each may take 200 ms, as far as one answer tells')
    clock.advance(5)
    assert.equal(await sentAfter(100), 1)
    assert.equal(await sentAfter(900), 1, 'its request was sent before the service told of 100 ms')
  })

  it('keeps no more requests in flight than `concurrency`', async () => {
    const open: ((response: Response) => void)[] = []
    const send = () => new Promise<Response>((resolve) => open.push(resolve))
    const fetch = pacedFetch({ fetch: send, concurrency: 3 })
    const all = Promise.all(Array.from({ length: 5 }, () => fetch('https://api.test/')))
    for (const inFlight of [1, 3, 1]) {
      await until(() => open.length, inFlight) // the first alone, since nothing is known before its answer
      await new Promise(setImmediate)
      assert.equal(open.length, inFlight)
      for (const answer of open.splice(0)) answer(new Response('ok'))
    }
    await all
  })
})

describe('pacedFetch() asks again', () => {
  it('after a 429, when Retry-After says, by any method, with the same body', async () => {
    const { clock, client, seen, retries } = await api((app) => {
      let refused = 0
      app.post('/work', express.text({ type: '*/*' }), (req, res) => {
        if (refused++ < 2) return void res.set('Retry-After', '7').sendStatus(429)
        res.send(`got ${String(req.body)}`)
      })
    })
    const [response, took] = await passing(clock, client()('/work', { method: 'POST', body: 'a person' }))
    assert.equal(await response.text(), 'got a person')
    assert.deepEqual(seen, ['POST /work', 'POST /work', 'POST /work'])
    assert.deepEqual(
      retries.map(({ status, attempt }) => [status, attempt]),
      [
        [429, 1],
        [429, 2],
      ],
    )
    assertIs(took, atLeast(14_000))
    assertIs(took, below(14_200))
  })

  it('RFC 9110 §9.2.2: after a 503 only by a method that is idempotent', async () => {
    const { clock, client, seen } = await api((app) => retryAfter(app, 503, 1, '2'))
    assert.equal((await passing(clock, client()('/busy', { method: 'POST' })))[0].status, 503)
    assert.equal(seen.length, 1)
    const again = await api((app) => retryAfter(app, 503, 1, '2'))
    const [response, took] = await passing(again.clock, again.client()('/busy', { method: 'PUT' }))
    assert.equal(response.status, 200)
    assertIs(took, atLeast(2_000))
  })

  it('ever later after a 503 that does not say when', async () => {
    const { clock, client, retries } = await api((app) => retryAfter(app, 503, 3))
    assert.equal((await passing(clock, client()('/busy')))[0].status, 200)
    retries.forEach(({ waitMs }, i) => {
      assertIs(waitMs, between(250 * 2 ** i, 750 * 2 ** i), `${waitMs} ms before retry ${i + 1}`)
    })
    assert.equal(retries.length, 3)
  })

  it('no oftener than `retries`, and no later than `maxWaitMs`; then the response is the answer', async () => {
    const { clock, client, seen } = await api((app) => retryAfter(app, 429, 99, '5'))
    const [response] = await passing(clock, client({ retries: 2 })('/busy'))
    assert.equal(response.status, 429)
    assert.equal(await response.text(), 'Too Many Requests', 'with its body')
    assert.equal(seen.length, 3)
    const [impatient, took] = await passing(clock, client({ maxWaitMs: 4_999 })('/busy'))
    assert.equal(impatient.status, 429)
    assertIs(took, below(1_000))
    assert.equal(seen.length, 4)
  })

  it('waits no longer than `maxWaitMs` in all, for time that is left and between attempts', async () => {
    const { clock, client } = await api((app, clock) => {
      app.use(throttle({ ...WINDOW, clock, headers: { rateLimit: true } }))
      retryAfter(app, 429, 99, '4')
    })
    const fetch = client({ maxWaitMs: 9_000 })
    const [, tookFirst] = await passing(clock, fetch('/busy'))
    assertIs(tookFirst, between(8_000, 9_000), `${tookFirst} ms: two waits of 4 s, and no third`)

    let sent = false
    const second = pacedFetch({
      clock,
      maxWaitMs: 3_000,
      fetch: (input) => {
        if (input === 'https://a.test/first') return new Promise<Response>(() => undefined)
        sent = true
        return Promise.resolve(new Response('ok'))
      },
    })
    void second('https://a.test/first')
    const [, tookSecond] = await passing(clock, second('https://a.test/second'))
    assert.deepEqual([sent, tookSecond], [true, 3_000], 'a first answer that never comes')
  })

  it('but not where `onRetry` throws or rejects: then the request rejects with that', async () => {
    const { clock, client } = await api((app) => retryAfter(app, 429, 99, '1'))
    const reason = new Error('the user does not want to wait')
    const fails = [() => { throw reason }, () => Promise.reject(reason) as never] // prettier-ignore
    for (const onRetry of fails) await assert.rejects(passing(clock, client({ onRetry })('/busy')), reason)
  })

  it('passes errors of the network on, and lets the next one through', async () => {
    const { clock } = await api(() => {})
    let failed = 0
    const send = () => (failed++ ? Promise.resolve(new Response('ok')) : Promise.reject(new TypeError('fetch failed')))
    const fetch = pacedFetch({ clock, fetch: send, concurrency: 1 })
    const [one, two] = [fetch('http://api.example/'), fetch('http://api.example/')]
    await assert.rejects(one, /fetch failed/)
    assert.equal((await two).status, 200)
  })
})

describe('pacedFetch() and another origin', () => {
  for (const [status, fields] of [
    [429, { 'Retry-After': '110' }],
    [503, { 'Retry-After': '110' }],
    [200, { 'X-Throttle-Window-Size': '1000', 'X-Throttle-Millis-Left': '0', 'X-Processing-Time': '1000' }],
  ] as const) {
    it(`learns nothing from a ${status} that a redirect led to, and does not repeat it`, async () => {
      let asked = 0
      const other = await serve(express().use((_req, res) => void (asked++, res.set(fields).sendStatus(status))))
      const { clock, client, retries } = await api((app, clock) => {
        app.use(throttle({ ...WINDOW, clock }))
        app.get('/avatar', (_req, res) => res.redirect(other.url))
      })
      const fetch = client()
      await passing(clock, fetch('/work/1'))
      assert.equal((await passing(clock, fetch('/avatar')))[0].status, status)
      const [response, took] = await passing(clock, fetch('/work/1'))
      assert.equal(response.status, 200)
      assertIs(took, below(1_000))
      assert.deepEqual([asked, retries], [1, []])
    })
  }

  it('obeys the same origin after a redirect, and one origin however it is written', async () => {
    const { clock, client, retries } = await api((app) => {
      retryAfter(app, 429, 1, '7')
      app.get('/moved', (_req, res) => res.redirect('/busy'))
    })
    const [response, took] = await passing(clock, client()('/moved'))
    assert.deepEqual([response.status, retries.length], [200, 1])
    assertIs(took, atLeast(7_000))
    const answers = [429, 200]
    const send = () => {
      const answer = new Response('', { status: answers.shift() ?? 200, headers: { 'Retry-After': '3' } })
      return Promise.resolve(Object.defineProperty(answer, 'url', { value: 'https://api.example/a' }))
    }
    const [again, waited] = await passing(clock, pacedFetch({ clock, fetch: send })('HTTPS://user@API.example:443/a'))
    assert.equal(again.status, 200)
    assertIs(waited, atLeast(3_000))
  })

  it('remembers the budgets of a hundred, those used last', async () => {
    const { clock } = await api(() => {})
    const spent = { 'RateLimit-Policy': '"a";q=1000;qu="milliseconds";w=60', RateLimit: '"a";r=0;t=60' }
    let sent = 0
    const send = () => Promise.resolve(new Response('', { headers: ++sent <= 101 ? spent : {} }))
    const fetch = pacedFetch({ clock, fetch: send })
    for (let i = 0; i <= 100; i++) await fetch(`https://api${i}.example/`)
    await fetch('https://api0.example/')
    assert.equal(sent, 102, 'the first is forgotten, so it is asked at once')
    const stop = new AbortController()
    const waiting = fetch('https://api100.example/', { signal: stop.signal })
    stop.abort()
    await assert.rejects(waiting)
    assert.equal(sent, 102, 'the last is known to have nothing left')
  })
})

describe('pacedFetch() can be aborted', () => {
  it('before it is sent, while it waits for a window, and while it waits to ask again', async () => {
    const { clock, client, seen } = await api((app, clock) => {
      retryAfter(app, 429, 99, '5')
      app.use(throttle({ ...WINDOW, clock, headers: { rateLimit: true } }))
    })
    const reason = new Error('the user has left')
    await assert.rejects(client()('/work/1', { signal: AbortSignal.abort(reason) }), reason)
    assert.equal(seen.length, 0)

    const retrying = new AbortController()
    let told = false
    const again = client({ onRetry: () => (told = true) })('/busy', { signal: retrying.signal })
    await until(() => told)
    retrying.abort(reason)
    await assert.rejects(again, reason)
    assert.equal(seen.length, 1)

    const fetch = client({ concurrency: 1 }) // one that stayed in the queue would keep the others from being sent
    await passing(clock, fetch('/work/1500'))
    const waiting = new AbortController()
    const aborted = fetch('/work/1', { signal: waiting.signal })
    const next = fetch('/work/1')
    waiting.abort(reason)
    await assert.rejects(aborted, reason)
    assert.equal((await passing(clock, next))[0].status, 200)
    assert.equal(seen.length, 3, 'what was aborted was not sent')
  })
})

// What pacedFetch() takes from answers of caches, other limiters and other packages.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import type { Express, RequestHandler } from 'express'
import { throttle } from '../../lib'
import { pacedFetch } from '../../lib/client'
import { manualClock } from '../../lib/testing'
import { DATE, WINDOW, api, passing } from './paced-api'
import { assertIs, atLeast, below } from '../support/until'

/** Fields of a window of 1 s of work that is used up, and ends in a minute. */
const SPENT = {
  'X-Processing-Time': '200',
  'X-Throttle-Window-Size': '1000',
  'X-Throttle-Millis-Left': '0',
  'RateLimit-Policy': '"default";q=1000;qu="milliseconds";w=60',
  RateLimit: '"default";r=0;t=60',
}

const answering =
  (status: number, fields: Record<string, string>): RequestHandler =>
  (_req, res) =>
    void res.set(fields).sendStatus(status)

describe('pacedFetch() and a cache', () => {
  for (const [what, status, fields] of [
    ['a CDN', 200, { ...SPENT, Age: '590' }],
    [
      'a cache with the X-THROTTLE fields alone',
      200,
      { 'X-Throttle-Window-Size': '1000', 'X-Throttle-Millis-Left': '0', Age: '3' },
    ],
    ['a cache that keeps a 404', 404, { ...SPENT, Age: '59', 'X-Cache': 'HIT' }],
    ['a cache that keeps a refusal', 429, { ...SPENT, Age: '20', 'Retry-After': '60' }],
  ] as const) {
    it(`learns nothing from ${what}`, async () => {
      const { clock, client } = await api((app) => app.get('/logo', answering(status, fields)))
      const fetch = client({ retries: 0 })
      assert.equal((await passing(clock, fetch('/logo')))[0].status, status)
      const [, took] = await passing(clock, fetch('/work/1'))
      assertIs(took, below(1_000))
    })
  }

  it('takes `Age: 0` for news: some caches write it on what they have just asked for', async () => {
    const { clock, client } = await api((app) => app.get('/fresh', answering(200, { ...SPENT, Age: '0' })))
    const fetch = client()
    await passing(clock, fetch('/fresh'))
    const [, took] = await passing(clock, fetch('/work/1'))
    assertIs(took, atLeast(50_000))
  })
})

describe('pacedFetch() and a 429 that is not of the throttle', () => {
  const login = (app: Express) => app.post('/login', answering(429, { 'Retry-After': '60' }))

  for (const [what, mount] of [
    [
      'a counter behind it',
      (app, clock) => {
        app.use(throttle({ ...WINDOW, clock, headers: { rateLimit: true } }))
        login(app)
      },
    ],
    [
      'a counter behind it, without RateLimit fields',
      (app, clock) => {
        app.use(throttle({ ...WINDOW, clock }))
        login(app)
      },
    ],
    [
      'a counter before it',
      (app, clock) => {
        login(app)
        app.use(throttle({ ...WINDOW, clock }))
      },
    ],
    [
      'a counter of requests with fields of its own',
      (app, clock) => {
        const fields = { 'RateLimit-Policy': '"100-in-15min";q=100;w=900', RateLimit: '"100-in-15min";r=0;t=60' }
        app.post('/login', answering(429, { 'Retry-After': '60', ...fields }))
        app.use(throttle({ ...WINDOW, clock, headers: { rateLimit: true } }))
      },
    ],
  ] as readonly [string, (app: Express, clock: ReturnType<typeof manualClock>) => void][]) {
    it(`holds its own route only: ${what}`, async () => {
      const { clock, client, seen } = await api(mount)
      const fetch = client({ retries: 0 })
      await passing(clock, fetch('/work/1'))
      assert.equal((await passing(clock, fetch('/login', { method: 'POST' })))[0].status, 429)
      const [response, took] = await passing(clock, fetch('/work/1'))
      assert.deepEqual([response.status, took < 1_000], [200, true], `${took} ms`)
      const [, tookLogin] = await passing(clock, fetch('/login', { method: 'POST' }))
      assertIs(tookLogin, atLeast(60_000 - 1_000), `the next login comes after ${tookLogin} ms`)
      assert.equal(seen.length, 4)
    })
  }
})

describe('pacedFetch() whose first answer is a 429', () => {
  for (const [what, headers] of [
    ['with RateLimit fields', { rateLimit: true }],
    ['without', {}],
    ['with the X-THROTTLE fields', { throttle: 'always' }],
  ] as const) {
    it(`sends the others when it says, and then no more than there is time for: ${what}`, async () => {
      const { clock, client, seen, retries } = await api((app, clock) =>
        app.use(throttle({ ...WINDOW, clock, headers })),
      )
      clock.advance(2_000) // a window of ada's has begun
      for (const path of ['/work/900', '/work/200']) await passing(clock, client()(path))
      seen.length = 0
      const page = client() // a reload of the page: a new client, and the window is used up
      const answers = Promise.all(Array.from({ length: 8 }, (_, i) => page(`/work/${100 + i}`)))
      const [responses] = await passing(clock, answers)
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200])
      assert.equal(retries.length, 1)
      assert.equal(seen.length, 9)
    })
  }

  it('paces nothing any more once a service that tells nothing lets requests in', async () => {
    let refused = 0
    const { clock, client } = await api((app) => {
      app.use((_req, res, next) => void (refused++ === 0 ? res.set('Retry-After', '5').sendStatus(429) : next()))
    })
    const fetch = client({ concurrency: 5 })
    const [, took] = await passing(clock, Promise.all(Array.from({ length: 6 }, () => fetch('/work/1'))))
    assertIs(took, atLeast(5_000))
    assertIs(took, below(7_000))
    assert.equal(refused, 7)
  })
})

describe('pacedFetch() takes a `Request`, a body and a response of any package', () => {
  const answers = (...statuses: number[]) =>
    statuses.map((status) => new Response('', { status, headers: { 'Retry-After': '1', 'X-Processing-Time': '1' } }))

  it('a Request of this realm or another is known by its shape: its method, its URL, its signal, its body again', async () => {
    const clock = manualClock(DATE)
    const foreign = (url: string, body: string, signal?: AbortSignal): object => ({
      url,
      method: 'POST',
      signal,
      clone: () => foreign(url, body, signal),
      text: () => Promise.resolve(body),
    })
    for (const request of [
      foreign('https://a.test/x', 'a person') as Request,
      new Request('https://a.test/x', { method: 'POST', body: 'a person' }),
    ]) {
      const left = answers(503, 429, 200)
      const bodies: unknown[] = []
      const send: typeof fetch = async (input) => {
        bodies.push(await (input as Request).text())
        return left.shift() as Response
      }
      const paced = pacedFetch({ clock, fetch: send })
      assert.equal((await passing(clock, paced(request)))[0].status, 503, 'a POST is not repeated after a 503')
      assert.equal((await passing(clock, paced(request)))[0].status, 200)
      assert.deepEqual(bodies, ['a person', 'a person', 'a person'])
    }
    const aborted = foreign('https://a.test/x', '', AbortSignal.abort(new Error('left'))) as Request
    await assert.rejects(pacedFetch({ clock })(aborted), /left/)
  })

  it('a Request whose body was read rejects, and holds nobody up', async () => {
    const clock = manualClock(DATE)
    const fetch = pacedFetch({ clock, fetch: () => Promise.resolve(new Response('ok')), concurrency: 1 })
    const used = new Request('https://a.test/x', { method: 'POST', body: 'a person' })
    await used.text()
    await assert.rejects(fetch(used), TypeError)
    assert.equal((await fetch('https://a.test/x')).status, 200)
  })

  for (const [what, body] of [
    ['of the web', new Blob(['a person']).stream()],
    ['of the web without an async iterator', { getReader: () => undefined }],
    ['of Node', Readable.from(['a person'])],
    ['of the first days of Node, such as that of form-data', { pipe: () => undefined, on: () => undefined }],
  ] as const) {
    it(`a body that is a stream ${what} is sent once`, async () => {
      const left = answers(429, 200)
      const fetch = pacedFetch({ clock: manualClock(DATE), fetch: () => Promise.resolve(left.shift() as Response) })
      const init = { method: 'POST', body: body as unknown as NonNullable<RequestInit['body']> }
      assert.equal((await fetch('https://a.test/x', init)).status, 429)
      assert.equal(left.length, 1)
    })
  }

  const failing = Object.assign(new Readable({ read: () => undefined }), {
    _destroy: (_err: unknown, done: (err: Error) => void) => done(new Error('cut off')),
  })
  for (const [what, body] of [
    ['is of Node, as that of node-fetch', Readable.from(['x'])],
    ['is of Node and fails when it is destroyed', failing],
    ['is never cancelled, as that of a mock', { cancel: () => new Promise(() => undefined) }],
    ['cannot be cancelled', { cancel: () => Promise.reject(new Error('locked')) }],
    ['throws when it is cancelled', { cancel: () => { throw new Error('locked') } }], // prettier-ignore
    ['is null', null],
  ] as const) {
    it(`a refused request is sent again where its response's body ${what}`, async () => {
      const clock = manualClock(DATE)
      const [first, second] = answers(429, 200) as [Response, Response]
      const left = [Object.defineProperty(first, 'body', { value: body }), second]
      const fetch = pacedFetch({ clock, fetch: () => Promise.resolve(left.shift() as Response) })
      assert.equal((await passing(clock, fetch('https://a.test/x')))[0].status, 200)
    })
  }

  it('the signal of an older package, which has no reason, aborts with an AbortError', async () => {
    const signal = { aborted: true, addEventListener: () => undefined } as unknown as AbortSignal
    await assert.rejects(pacedFetch()('https://a.test/x', { signal }), { name: 'AbortError' })
  })

  it('a response without an address, as a mock has it, is taken for its own', async () => {
    const clock = manualClock(DATE)
    const [first, second] = answers(429, 200) as [Response, Response]
    const left = [Object.defineProperty(first, 'url', { value: undefined }), second]
    const fetch = pacedFetch({ clock, fetch: () => Promise.resolve(left.shift() as Response) })
    assert.equal((await passing(clock, fetch('https://a.test/x')))[0].status, 200)
  })
})

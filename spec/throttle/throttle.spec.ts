// throttle() over HTTP: charges, refusals, windows, subjects, fields, usage() and reset().
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type Express } from 'express'
import { budgetOf, throttle, type ThrottleOptions } from '../../lib'
import { subjectId } from '../../lib/throttle/budget/subjects'
import { type Answer, serve } from '../support/serve'
import { manualClock } from '../../lib/testing'
import { splitHelpLink } from '../support/help-link'
import { opaqueStore } from '../../lib/throttle/store/store'
import { assertIs, atMost, above, not, until } from '../support/until'

const WINDOW = { limitMs: 1_000, windowMs: 10_000, subject: () => 'ada' } satisfies ThrottleOptions

/** A moment at which a ten-second window of this subject begins. */
function windowStart(subject: string): number {
  const windowUs = WINDOW.windowMs * 1_000
  const us = Date.UTC(2026, 0, 1) * 1_000
  return (us - ((us + subjectId(subject, windowUs).phase) % windowUs) + windowUs) / 1_000
}

/** An app whose handlers take exactly as many milliseconds as their path says, by its own clock: `/work/250`. */
async function appWith(
  mount: (app: Express, clock: ReturnType<typeof manualClock>) => void,
  clock = manualClock(windowStart('ada')),
) {
  const app = express()
  mount(app, clock)
  app.get(/^\/(?:.*\/)?work\/(\d+)$/, (req, res) => {
    clock.advance(Number(req.params[0]))
    res.json({ done: true })
  })
  const listening = await serve(app)
  return { clock, get: listening.get }
}

const throttleFields = (answer: Answer) =>
  ['X-PROCESSING-TIME', 'X-THROTTLE-WINDOW-SIZE', 'X-THROTTLE-MILLIS-USED', 'X-THROTTLE-MILLIS-LEFT'].map((field) =>
    answer.number(field),
  )

describe('throttle() charges processing time', () => {
  it('refuses when the sum has reached the limit, and not while any of it is left', async () => {
    const { get, clock } = await appWith((app, clock) => app.use(throttle({ ...WINDOW, clock })))
    assert.deepEqual(throttleFields(await get('/work/999')), [999, 1_000, 999, 1])
    assert.deepEqual(throttleFields(await get('/work/1')), [1, 1_000, 1_000, 0])
    const refused = await get('/work/1')
    assert.equal(refused.status, 429)
    clock.advance(refused.number('Retry-After') * 1_000)
    assert.deepEqual(throttleFields(await get('/work/7')), [7, 1_000, 7, 993])
  })

  it('promises a Retry-After in whole seconds after which the window is over, and not a second more', async () => {
    const { get, clock } = await appWith((app, clock) => app.use(throttle({ ...WINDOW, clock })))
    await get('/work/1001')
    for (let retryAfter = (await get('/work/1')).number('Retry-After'); retryAfter > 1; retryAfter--) {
      assert.equal((await get('/work/1')).number('Retry-After'), retryAfter)
      clock.advance(1_000)
    }
    const last = await get('/work/1')
    assert.deepEqual([last.status, last.number('Retry-After')], [429, 1])
    clock.advance(1_000)
    assert.equal((await get('/work/1')).status, 200)
  })

  it('charges nothing for a refusal, however often it is asked', async () => {
    const { get } = await appWith((app, clock) => {
      const throttled = throttle({ ...WINDOW, clock })
      app.get('/usage', (_req, res, next) => void throttled.usage('ada').then((usage) => res.json(usage), next))
      app.use(throttled)
    })
    await get('/work/1500')
    for (let i = 0; i < 20; i++) assert.equal((await get('/work/100')).status, 429)
    const [usage] = JSON.parse((await get('/usage')).body) as { spentMs: number; leftMs: number }[]
    assert.deepEqual([usage?.spentMs, usage?.leftMs], [1_500, 0])
  })

  it('splits a request that crosses the window between both', async () => {
    const { get, clock } = await appWith((app, clock) => {
      const throttled = throttle({ ...WINDOW, limitMs: 20_000, clock })
      app.get('/usage', (_req, res, next) => void throttled.usage('ada').then((usage) => res.json(usage), next))
      app.use(throttled)
    })
    const ends = async () => (JSON.parse((await get('/usage')).body) as { endsInMs: number }[])[0]?.endsInMs as number
    clock.advance((await ends()) - 300)
    const crossed = await get('/work/1000')
    assert.deepEqual(throttleFields(crossed), [1_000, 20_000, 700, 19_300])
  })

  it('carries X-PROCESSING-TIME and its fields on 404 and 500, and no X-THROTTLE on 429', async () => {
    const { get } = await appWith((app, clock) => {
      app.set('env', 'test')
      app.use(throttle({ ...WINDOW, clock }))
      app.get('/broken', () => {
        clock.advance(5)
        throw new Error('inside')
      })
    })
    const [missing, broken] = [await get('/nowhere'), await get('/broken')]
    assert.deepEqual([missing.status, ...throttleFields(missing)], [404, 0, 1_000, 0, 1_000])
    assert.deepEqual([broken.status, ...throttleFields(broken)], [500, 5, 1_000, 5, 995])
    await get('/work/1000')
    const refused = await get('/work/1')
    assert.deepEqual([refused.status, ...throttleFields(refused)], [429, 0, NaN, NaN, NaN])
  })
})

describe('throttle() answers 429', () => {
  it('with what onDenied finds in req.throttle, how the subject stands in the window that is spent', async () => {
    const { get } = await appWith((app, clock) => {
      const onDenied: ThrottleOptions['onDenied'] = (_err, req, res) => {
        const { subject, window, spentMs, leftMs, endsInMs, signal } = budgetOf(req)
        res.status(429).json({ subject, window, spentMs, leftMs, endsInMs, aborted: signal.aborted })
      }
      app.use(throttle({ ...WINDOW, name: 'day', limitMs: 5_000, clock, onDenied }))
      app.use(throttle({ ...WINDOW, name: 'minute', clock, onDenied }))
    })
    await get('/work/1001')
    const standing = { subject: 'ada', window: 'minute', spentMs: 1_001, leftMs: 0, endsInMs: 8_999, aborted: false }
    for (let i = 0; i < 2; i++) {
      const { status, body } = await get('/work/1')
      assert.equal(status, 429)
      assert.deepEqual(JSON.parse(body), standing)
    }
  })
})

describe('throttle() tells windows apart', () => {
  it('gives routes their own, or none, and the first match wins', async () => {
    const { get } = await appWith((app, clock) => {
      const routes = {
        'POST /tree': { limitMs: 1, windowMs: 10_000 },
        '/tree/search': { limitMs: 300, windowMs: 10_000 },
        '/status': false,
        '/tree': { limitMs: 700, windowMs: 10_000 },
      } as const
      app.use(throttle({ ...WINDOW, routes, clock }))
    })
    assert.deepEqual(throttleFields(await get('/tree/search/work/100')), [100, 300, 100, 200])
    assert.deepEqual(throttleFields(await get('/TREE/search/work/100')), [100, 300, 200, 100])
    assert.deepEqual(throttleFields(await get('/tree/work/100')), [100, 700, 100, 600])
    assert.deepEqual(throttleFields(await get('/treesearch/work/100')), [100, 1_000, 100, 900])
    const open = await get('/status/work/2000')
    assert.equal(open.number('X-PROCESSING-TIME'), 2_000)
    assert.equal(open.headers.get('x-throttle-millis-used'), null)
    assert.equal((await get('/work/1')).number('X-THROTTLE-MILLIS-USED'), 101)
  })

  it('charges several throttles of one request, and shows the one with least left', async () => {
    const { get } = await appWith((app, clock) => {
      app.use(throttle({ ...WINDOW, clock }))
      app.use('/slow', throttle({ ...WINDOW, name: 'slow', limitMs: 400, clock }))
    })
    assert.deepEqual(throttleFields(await get('/slow/work/100')), [100, 400, 100, 300])
    assert.deepEqual(throttleFields(await get('/work/650')), [650, 1_000, 750, 250])
    assert.deepEqual(throttleFields(await get('/slow/work/10')), [10, 1_000, 760, 240])
  })

  it('gives back what earlier throttles reserved when a later one refuses, charges what was worked before, and promises the longest wait', async () => {
    const { get, clock } = await appWith((app, clock) => {
      const hour = throttle({ ...WINDOW, windowMs: 3_600_000, name: 'hour', limitMs: 100_000, clock })
      app.get('/usage', (_req, res, next) => void hour.usage('ada').then((usage) => res.json(usage), next))
      app.use(hour)
      app.use((_req, _res, next) => {
        clock.advance(50) // as a body parser would take
        next()
      })
      app.use(throttle({ ...WINDOW, clock }))
    })
    await get('/work/1001')
    const refused = await get('/work/1')
    assert.equal(refused.status, 429)
    assertIs(refused.number('Retry-After'), atMost(10))
    const [usage] = JSON.parse((await get('/usage')).body) as { spentMs: number }[]
    assert.equal(usage?.spentMs, 1_101, 'of the refused request, what ran between the two')
    clock.advance(10_000)
    assert.equal((await get('/work/99000')).status, 200)
    const both = await get('/work/1')
    assert.equal(both.status, 429)
    assertIs(both.number('Retry-After'), above(10), 'the hour is spent as well')
  })

  it('charges nothing for the time that onDenied takes', async () => {
    let answer: (() => void) | undefined
    const onDenied: ThrottleOptions['onDenied'] = (_err, _req, res) => void (answer = () => res.status(429).end())
    const { get, clock } = await appWith((app, clock) => {
      const hour = throttle({ ...WINDOW, windowMs: 3_600_000, name: 'hour', limitMs: 100_000, clock })
      app.get('/usage', (_req, res, next) => void hour.usage('ada').then((usage) => res.json(usage), next))
      app.use(hour, throttle({ ...WINDOW, clock, onDenied }))
    })
    await get('/work/1001')
    const refused = get('/work/1')
    await until(() => answer, not(undefined), { answer: refused })
    clock.advance(500)
    answer?.()
    assert.equal((await refused).status, 429)
    assert.equal((JSON.parse((await get('/usage')).body) as { spentMs: number }[])[0]?.spentMs, 1_001)
  })

  for (const first of [0, 1]) {
    it(`without a store a throttle has one window in all its apps, also where app ${first} is asked first`, async () => {
      const clock = manualClock(windowStart('ada'))
      const throttled = throttle({ ...WINDOW, subject: () => 'ada', clock })
      const used = async () => (await throttled.usage('ada')).map(({ spentMs }) => spentMs)
      const apps = await Promise.all([1, 2].map(() => appWith((app) => app.use(throttled), clock)))
      assert.deepEqual(await used(), [0])
      await apps[first]?.get('/work/100')
      assert.deepEqual(await used(), [100])
      await apps[1 - first]?.get('/work/200')
      assert.deepEqual(await used(), [300])
      await throttled.reset('ada')
      assert.deepEqual(await used(), [0])
    })
  }
})

describe('throttle() tells subjects apart', () => {
  const who = { subject: (req: express.Request) => req.get('x-who') ?? null }

  it('throttles each by itself, and nobody where the subject is null', async () => {
    const { get } = await appWith((app, clock) => app.use(throttle({ ...WINDOW, ...who, clock })))
    await get('/work/1001', { 'x-who': 'ada' })
    assert.equal((await get('/work/1', { 'x-who': 'ada' })).status, 429)
    assert.equal((await get('/work/1', { 'x-who': 'bob' })).status, 200)
    const nobody = await get('/work/5000')
    assert.deepEqual([nobody.status, nobody.number('X-PROCESSING-TIME')], [200, 5_000])
    assert.equal(nobody.headers.get('x-throttle-millis-left'), null)
  })
})

describe('throttle() passes to the error handler what a function of the app', () => {
  const failed = () => Promise.reject(new Error('no database'))
  /** As another library's promise: rejects, and cannot be awaited by instanceof. */
  const thenable = { then: (_done: unknown, fail: (err: Error) => void) => void setImmediate(fail, new Error('no')) }
  const raise = (thrown: unknown) => () => {
    throw thrown
  }
  const wrong: [what: string, option: 'subject' | 'limitMs', answer: () => unknown, message: RegExp][] = [
    ['returns: no text', 'subject', () => '', /^TypeError: subject\(req\) .* not empty.* it returned ''$/],
    ['returns: a number', 'subject', () => 7, /^TypeError: subject\(req\) must return a string/],
    ['returns: a promise that rejects', 'subject', failed, /^TypeError: subject returned a promise/],
    ['returns: a promise', 'subject', () => Promise.resolve('user:ada'), /^TypeError: subject returned a promise/],
    ['returns: a thenable that rejects', 'subject', () => thenable, /^TypeError: subject returned a promise/],
    ['throws: an error', 'subject', raise(new Error('no user table')), /^Error: no user table$/],
    ['throws: undefined', 'subject', raise(undefined), /^Error: thrown: undefined$/],
    ['throws: what Express takes for a command', 'subject', raise('route'), /^Error: thrown: 'route'$/],
    [
      'returns: a text',
      'limitMs',
      () => '5000',
      /^TypeError: limitMs\(req\) must return a number .* it returned '5000'$/,
    ],
    ['returns: an object with valueOf()', 'limitMs', () => new Date(5_000), /^TypeError: limitMs\(req\) must/],
    [
      'returns: NaN',
      'limitMs',
      () => NaN,
      /^RangeError: limitMs\(req\) must return a number from 0 to .* returned NaN$/,
    ],
    ['returns: a promise that rejects', 'limitMs', failed, /^TypeError: limitMs returned a promise/],
    ['throws: null', 'limitMs', raise(null), /^Error: thrown: null$/],
  ]
  for (const [what, option, answer, message] of wrong) {
    it(`${what} (${option})`, async () => {
      const errors: unknown[] = []
      const unhandled: unknown[] = []
      const note = (err: unknown) => void unhandled.push(err)
      process.on('unhandledRejection', note)
      const { get } = await appWith((app, clock) => {
        app.use(throttle({ ...WINDOW, [option]: answer, clock }))
        app.use(((err, _req, res, _next) => {
          errors.push(err)
          res.sendStatus(500)
        }) satisfies express.ErrorRequestHandler)
      })
      assert.equal((await get('/work/1')).status, 500)
      await new Promise((resolve) => setImmediate(resolve))
      process.off('unhandledRejection', note)
      assert.match(splitHelpLink(String(errors[0])).text, message)
      assert.deepEqual(unhandled, [])
    })
  }
})

describe('throttle() as an operator sees it', () => {
  it('sets the RateLimit fields where asked, with the unit named, and leaves X-THROTTLE out where asked', async () => {
    const headers = { throttle: false, rateLimit: true }
    const { get } = await appWith((app, clock) => app.use(throttle({ ...WINDOW, headers, clock })))
    const answer = await get('/work/100')
    assert.equal(answer.headers.get('ratelimit-policy'), '"default";q=1000;qu="milliseconds";w=10')
    assert.match(answer.headers.get('ratelimit') ?? '', /^"default";r=900;t=([1-9]|10)$/)
    assert.equal(answer.headers.get('x-throttle-millis-left'), null)
    assert.equal(answer.number('X-PROCESSING-TIME'), 100)
  })

  it('lists windows in the RateLimit fields as they are mounted', async () => {
    const { get } = await appWith((app, clock) => {
      const common = { ...WINDOW, headers: { rateLimit: true }, clock }
      app.use(throttle({ ...common, name: 'hour' }), throttle({ ...common, name: 'minute' }))
    })
    const { headers } = await get('/work/1')
    for (const field of ['ratelimit-policy', 'ratelimit'])
      assert.match(headers.get(field) ?? '', /^"hour";.*, "minute";/)
  })

  for (const [headers, expected] of [
    [{}, [false, false]],
    [{ rateLimit: true }, [true, false]],
    [{ throttle: 'always' }, [false, true]],
    [{ rateLimit: true, throttle: 'always' }, [true, true]],
  ] as const) {
    it(`a 429 with headers: ${JSON.stringify(headers)} has RateLimit, X-THROTTLE-*: ${expected.join()}`, async () => {
      const routes = { '/tree': { limitMs: 700, windowMs: 10_000 } }
      const { get } = await appWith((app, clock) => app.use(throttle({ ...WINDOW, routes, headers, clock })))
      await get('/tree/work/701')
      const refused = await get('/tree/work/1', { accept: 'application/problem+json' })
      assert.equal(refused.status, 429)
      assert.match(refused.body, /in the window \\"\/tree\\"/, 'the body names the window')
      const [rateLimit, policy] = ['ratelimit', 'ratelimit-policy'].map((field) => refused.headers.get(field))
      const figures = ['window-size', 'millis-used', 'millis-left'].map((f) => refused.headers.get(`x-throttle-${f}`))
      assert.deepEqual([rateLimit !== null, figures.some((figure) => figure !== null)], expected)
      if (rateLimit !== null) assert.match(`${policy} ${rateLimit}`, /^"\/tree";q=700;.*;w=10 "\/tree";r=0;t=\d+$/)
      if (expected[1]) assert.deepEqual(figures, ['700', '701', '0'])
    })
  }

  for (const [headers, expected] of [
    [false, []],
    [{ processingTime: false }, ['x-throttle-millis-left']],
    [{ throttle: false }, ['x-processing-time']],
    [{ throttle: 'always' }, ['x-processing-time', 'x-throttle-millis-left']],
  ] as const) {
    it(`headers: ${JSON.stringify(headers)} sets ${expected.join() || 'none of the fields'}`, async () => {
      const { get } = await appWith((app, clock) => app.use(throttle({ ...WINDOW, headers, clock })))
      const fields = ['x-processing-time', 'x-throttle-millis-left', 'ratelimit']
      const answer = await get('/work/1001')
      assert.deepEqual(
        fields.filter((field) => answer.headers.has(field)),
        expected,
      )
      const refused = await get('/work/1')
      assert.equal(refused.status, 429)
      assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
      assert.equal(refused.headers.has('x-processing-time'), answer.headers.has('x-processing-time'))
    })
  }

  it('usage() and reset() see and clear what a subject has used of each window', async () => {
    const routes = { '/tree': { limitMs: 700, windowMs: 10_000 } }
    let throttled: ReturnType<typeof throttle> | undefined
    const { get } = await appWith((app, clock) => app.use((throttled = throttle({ ...WINDOW, routes, clock }))))
    await get('/work/1200')
    await get('/tree/work/30')
    const usage = await throttled?.usage('ada')
    assert.deepEqual(
      usage?.map(({ window, limitMs, spentMs, leftMs, degraded }) => ({ window, limitMs, spentMs, leftMs, degraded })),
      [
        { window: 'default', limitMs: 1_000, spentMs: 1_200, leftMs: 0, degraded: false },
        { window: '/tree', limitMs: 700, spentMs: 30, leftMs: 670, degraded: false },
      ],
    )
    await throttled?.reset('ada')
    assert.deepEqual(throttleFields(await get('/work/10')), [10, 1_000, 10, 990])
  })

  it('usage() and advise() list a window once that several routes share, and close() lets go of its store', async () => {
    const tree = { limitMs: 700, windowMs: 10_000, name: 'tree' }
    let isClosed = false
    const down = () => Promise.reject(new Error('down'))
    const server = { name: undefined, report: down, beat: down }
    const close = () => Promise.resolve(void (isClosed = true))
    const store = opaqueStore({ serverOf: () => server, watch: () => undefined, close })
    const throttled = throttle({ store, routes: { '/tree': tree, '/people': tree, '/free': false } })
    assert.deepEqual(
      (await throttled.usage('ada')).map(({ window }) => window),
      ['default', 'tree'],
    )
    assert.deepEqual(
      (await throttled.advise()).map(({ window }) => window),
      ['default', 'tree'],
    )
    await throttled.close()
    assert.ok(isClosed)
  })
})

describe('req.throttle', () => {
  it('charge() adds to every window of the request, and throws for what is no time', async () => {
    const thrown: string[] = []
    const { get } = await appWith((app, clock) => {
      app.use(throttle({ ...WINDOW, clock }), throttle({ ...WINDOW, name: 'other', limitMs: 500, clock }))
      app.get('/charge', (req, res) => {
        for (const bad of [-1, NaN, Infinity, 86_400_001, '5', undefined, null]) {
          try {
            budgetOf(req).charge(bad as number)
          } catch (err) {
            thrown.push((err as Error).name)
          }
        }
        budgetOf(req).charge(0)
        budgetOf(req).charge(100.5)
        res.end()
      })
    })
    assert.deepEqual(throttleFields(await get('/charge')), [0, 500, 100, 400])
    assert.deepEqual(thrown, Array(7).fill('RangeError'))
    assert.deepEqual(throttleFields(await get('/work/0')), [0, 500, 100, 400])
  })
})

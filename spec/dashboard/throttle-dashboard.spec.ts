// The dashboard as its page sees it: who may look, what a snapshot has, and who may reset.
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { describe, it, type TestContext } from 'node:test'
import cors from 'cors'
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express'
import { Redis } from 'ioredis'
import { budgetOf, redisStore, throttle, type ThrottleOptions, type ThrottleStore } from '../../lib'
import { throttleDashboard, type DashboardOptions } from '../../lib/dashboard'
import { Activity } from '../../lib/dashboard/activity'
import { Series } from '../../lib/throttle/series'
import { hashOf } from '../../lib/dashboard/spenders'
import { type Clock, systemClock } from '../../lib/http/clock'
import type { Snapshot } from '../../lib/dashboard/snapshot'
import type { ShownSubject } from '../../lib/dashboard/subjects'
import { manualClock } from '../../lib/testing'
import { freePort, redisOfTest } from '../support/redis'
import { serve } from '../support/serve'
import { assertIs, atLeast, atMost, below, above, until } from '../support/until'

const open: RequestHandler = (_req, _res, next) => next()
const who = (req: Request) => req.get('X-Who') ?? 'nobody'

interface Given extends Partial<DashboardOptions> {
  readonly store?: ThrottleStore
  readonly routes?: ThrottleOptions['routes']
  readonly clock?: Clock
  readonly limitMs?: number
}

/** An API whose dashboard stands at /admin/throttle. */
async function start(t: TestContext, given: Given = {}) {
  const { store, routes = {}, clock = systemClock, limitMs = 1_000, ...options } = given
  const app = express()
  const terms = { limitMs, windowMs: 3_600_000, subject: who, routes, clock }
  const throttled = throttle({ ...terms, ...(store && { store }) })
  const dashboard = throttleDashboard(throttled, { guard: open, ...options })
  app.use(cors({ origin: true, credentials: true }))
  app.use('/admin/throttle', dashboard)
  app.use('/api', throttled)
  const charge: RequestHandler<{ ms: string }> = (req, res) => {
    budgetOf(req).charge(Number(req.params.ms))
    res.end()
  }
  app.get('/api/slow/:ms', charge)
  app.get('/api/spend/:ms', charge)
  const { url: origin } = await serve(app)
  t.after(() => Promise.all([dashboard.close(), throttled.close()]))
  const spend = async (name: string, ms: number) =>
    (await fetch(`${origin}/api/spend/${ms}`, { headers: { 'X-Who': name } })).status
  return { app, origin, at: `${origin}/admin/throttle`, spend, dashboard, throttled }
}

/** The first snapshot that a new viewer is told and that will do. */
async function seen(at: string, isIt: (snapshot: Snapshot) => boolean = () => true, query = ''): Promise<Snapshot> {
  const answer = await fetch(`${at}/events${query}`)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  let text = ''
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const snapshot = JSON.parse(event.replace(/^data: /, '')) as Snapshot
      if (isIt(snapshot)) return snapshot // and with that the stream is cancelled
    }
  }
  throw new Error('the stream has ended')
}

/** What the page sends: the cookie and the token that were given to it. */
async function ownHeaders(at: string): Promise<Record<string, string>> {
  const page = await fetch(`${at}/`)
  const cookie = page.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const token = /name="csrf" content="([\w-]{43})"/.exec(await page.text())?.[1] ?? ''
  return { 'Sec-Fetch-Site': 'same-origin', Cookie: cookie, 'X-CSRF-Token': token }
}

const reset = (at: string, headers: Record<string, string>, form: Record<string, string>) =>
  fetch(`${at}/reset`, { method: 'POST', headers, body: new URLSearchParams(form) })

const spentOf = (subject: ShownSubject | undefined) =>
  subject?.windows.reduce((sum, { spentMs }) => sum + spentMs, 0) ?? 0

describe('throttleDashboard()', () => {
  it('does not start without a guard, or with what it does not know', async () => {
    const throttled = throttle()
    const make = (options: unknown) => () => throttleDashboard(throttled, options as DashboardOptions)
    for (const options of [
      undefined,
      {},
      { guard: undefined },
      { guard: true },
      { guard: [] },
      { guard: [open, 1] },
      { guard: ((_err, _req, _res, next) => next()) as ErrorRequestHandler },
    ]) {
      assert.throws(make(options), /^TypeError: throttleDashboard needs a guard/)
    }
    for (const redis of ['redis://ada:hush@[', 'http://ada:hush@localhost'])
      assert.throws(make({ guard: open, redis }), (err: Error) => {
        return /redis.* takes an ioredis client or a redis:\/\/ URL/.test(err.message) && !err.message.includes('hush')
      })
    assert.throws(make({ guard: open, label: 'all' }), /label must be a function/)
    assert.throws(make({ guard: open, title: 7 }), /title must be a string; received 7/)
    assert.throws(make({ guard: 'hush' }), (err: Error) => !err.message.includes('hush'))
    assert.throws(make({ guard: open, gaurd: open }), /no option "gaurd"/)
    assert.throws(() => throttleDashboard(open as never, { guard: open }), /takes what throttle\(\) returned/)
    await throttled.close()
  })

  it('has the title it is given, as text', async (t) => {
    const { at } = await start(t, { title: '"><script>$&</script>' })
    const html = await (await fetch(`${at}/`)).text()
    assert.match(html, /<meta name="app" content="&#34;&#62;&#60;script&#62;\$&#38;&#60;\/script&#62;" \/>/)
  })

  it('lets the guard answer for the page, its files, the stream and the reset', async (t) => {
    const asked: string[] = []
    const guard: RequestHandler[] = [
      open,
      (req, res) => {
        asked.push(req.path)
        res.status(401).end()
      },
    ]
    const { at } = await start(t, { guard })
    const paths = ['/', '/dashboard.js', '/style.css', '/events', '/reset', '/none']
    for (const path of paths) {
      const answer = await fetch(at + path, path === '/reset' ? { method: 'POST' } : {})
      assert.deepEqual([answer.status, await answer.text()], [401, ''], path)
    }
    assert.deepEqual(asked, paths)
  })

  it('serves a page of its own, under a strict policy, that other origins cannot read', async (t) => {
    const { at } = await start(t)
    const moved = await fetch(at, { redirect: 'manual' })
    assert.deepEqual([moved.status, moved.headers.get('location')], [302, './throttle/'])
    for (const path of ['/', '/dashboard.js', '/style.css']) {
      const { status, headers } = await fetch(at + path, { headers: { Origin: 'https://evil.test' } })
      assert.equal(status, 200)
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'self';/)
      assert.equal(headers.get('access-control-allow-origin'), null)
      assert.equal(headers.get('access-control-allow-credentials'), null)
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('cache-control'), 'no-store')
    }
    const cookie = (await fetch(`${at}/`)).headers.getSetCookie()[0]
    assert.match(cookie ?? '', /^tollgate-dashboard=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  })

  it('tells who spends, what is refused and what each route costs; who is not refused by hash alone', async (t) => {
    const { at, spend } = await start(t)
    assert.equal(await spend('grace', 300), 200)
    assert.equal(await spend('ada', 1_200), 200)
    assert.equal(await spend('ada', 1), 429)
    const { source, subjects, totals, refused, admitted, routes, store } = await seen(at)
    assert.equal(source, 'process')
    const [ada, grace, ...more] = subjects
    assert.ok(ada && grace && more.length === 0)
    assert.ok(spentOf(ada) >= 1_200 && spentOf(grace) >= 300, JSON.stringify(subjects))
    assertIs(spentOf(grace), below(spentOf(ada)))
    const [{ limitMs, window } = {}] = ada.windows
    assert.deepEqual([limitMs, window, ada.known, ada.name, grace.name], [1_000, 'default', true, 'ada', undefined])
    assert.match(ada.subject, /^[\w-]{24}$/)
    assert.equal(totals.subjects, 2)
    assert.deepEqual([refused.aMinute, admitted.aMinute, admitted.points.length], [1, 2, 60])
    const [route, ...others] = routes
    assert.equal(others.length, 0)
    assert.deepEqual([route?.route, route?.requests], ['GET /api/spend/:ms', 2])
    assert.ok(route && route.ms.aMinute >= 1_500)
    assert.deepEqual([store.shared, store.down], [false, []])
    assert.equal(JSON.stringify(subjects).includes('"grace"'), false)
  })

  it('goes on where `label` throws, rejects or returns no text for a subject that a client chose', async (t) => {
    const label = (subject: string): string | undefined => {
      if (subject === 'rejects') return Promise.reject(new Error('no')) as never
      return subject === 'number' ? (7 as never) : decodeURIComponent(subject)
    }
    const { at, spend } = await start(t, { label })
    const hostile = ['%E0%A4%A', 'rejects', 'number', 'x'.repeat(5_000)]
    for (const subject of [...hostile, 'ada']) assert.equal(await spend(subject, 1_200), 200)
    for (const subject of hostile) assert.equal(await spend(subject, 1), 429)
    const { subjects, refusals } = await seen(at, ({ subjects }) => subjects.length === 5)
    const shown = subjects.map(({ name }) => name ?? 'by hash').sort()
    assert.deepEqual(shown, ['ada', 'by hash', 'by hash', 'by hash', 'x'.repeat(200)])
    assert.equal(refusals.filter(({ name }) => name === undefined).length, 3)
  })

  it('leaves a guard that throws or rejects to the error handler', async (t) => {
    for (const guard of [() => Promise.reject(new Error('no directory')), () => assert.fail('no directory')]) {
      const { at } = await start(t, { guard: guard as RequestHandler })
      assert.equal((await fetch(`${at}/`)).status, 500)
    }
  })

  it('looks up the routes of refused requests while somebody watches, and few of a large app while nobody does', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { at, spend, app } = await start(t, { clock })
    for (let i = 0; i < 3_000; i++) app.get(`/area${i}`, (_req, res) => void res.end())
    app.get('/api/late', (_req, res) => void res.end())
    const late = () => fetch(`${at.replace('/admin/throttle', '')}/api/late`, { headers: { 'X-Who': 'ada' } })
    await spend('ada', 1_200)
    assert.equal((await late()).status, 429)
    const routes = ({ refusals }: Snapshot) => refusals.flatMap(({ kinds }) => kinds.map(({ route }) => route))
    assert.deepEqual(routes(await seen(at)), ['other routes'])
    const watching = await fetch(`${at}/events`)
    clock.advance(1_000)
    assert.equal((await late()).status, 429)
    clock.advance(2_000) // the next look
    await watching.body?.cancel()
    assert.deepEqual(routes(await seen(at)).sort(), ['GET /api/late', 'other routes'])
  })

  it('tells a bounded number of refused subjects apart, and does not search all of them for each new one', (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const activity = new Activity(new Set(['default']), () => clock.now(), () => {}, () => false, { stalledUs: 0 }) // prettier-ignore
    t.after(() => activity.close())
    const totals = t.mock.method(Series.prototype, 'total')
    const req = { method: 'GET', baseUrl: '', path: '/', app: express() }
    const refuse = (subject: string) =>
      channel('express-tollgate:refused').publish({
        req,
        subject,
        window: 'default',
        reason: 'spent',
        dryRun: false,
      })
    for (let i = 0; i < 3_000; i++) refuse(`subject-${i}`)
    const { refusals } = activity
    assertIs(totals.mock.callCount(), atMost(1_000), `${totals.mock.callCount()} looks at a count`)
    assert.equal(refusals.size, 1_001)
    const others = [...refusals.values()].filter(({ subject }) => subject === undefined)
    assert.deepEqual([others.length, others[0]?.count.total(clock.now())], [1, 2_000])
    clock.advance(600_000)
    refuse('the next day')
    assert.deepEqual([...refusals.values()].map(({ subject }) => subject), ['the next day']) // prettier-ignore
  })

  it('shows how long the requests of a route took an hour ago, and how long the event loop was blocked', (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const stalls = { stalledUs: 5_000_000 }
    const activity = new Activity(new Set(['default']), () => clock.now(), () => {}, () => false, stalls) // prettier-ignore
    t.after(() => activity.close())
    const req = { method: 'GET', baseUrl: '', route: { path: '/report', methods: {} } }
    const takes = (chargedMs: number, by = 'request') =>
      channel('express-tollgate:charged').publish({ req, window: 'default', chargedMs, by })
    for (let i = 0; i < 100; i++) takes(i < 90 ? 10 : 100)
    clock.advance(3_600_000)
    stalls.stalledUs += 700_000
    for (let i = 0; i < 100; i++) takes(400)
    takes(9_999, 'charge')
    const times = activity.routes.get('GET /report')?.times
    const shown = ([0, 1] as const).map((hoursAgo) => {
      const { meanMs = NaN, p95Ms = NaN } = times?.at(clock.now(), hoursAgo) ?? {}
      return [Math.round(meanMs), Math.round(p95Ms / 20) * 20] // a bucket is 9 % wide
    })
    assert.deepEqual(shown, [[400, 420], [19, 100]]) // prettier-ignore
    assert.equal(activity.blockedMs(), 700)
    clock.advance(3_600_000)
    assert.deepEqual([times?.at(clock.now(), 0), activity.blockedMs()], [undefined, 0])
  })

  it('shows as many subjects as fit the view, found by name or hash and sorted as wanted, and says of how many', async (t) => {
    const { at, spend } = await start(t, { label: (subject) => (subject === 'hidden' ? undefined : subject) })
    for (let i = 0; i < 30; i++) await spend(`user-${i}`, 10 + i)
    await spend('Ada Lovelace', 500)
    await spend('hidden', 1)
    const view = (query: string) => seen(at, undefined, query)
    const all = await view('')
    assert.deepEqual([all.subjects.length, all.found, all.totals.subjects], [25, 32, 32])
    assert.equal(all.subjects[0]?.name, 'Ada Lovelace')
    assert.equal((await view('?most=50')).subjects.length, 32)
    const found = await view('?find=lovelace')
    assert.deepEqual([found.subjects.map(({ name }) => name), found.found], [['Ada Lovelace'], 1])
    const [{ subject: hash = '' } = {}] = found.subjects
    assert.deepEqual(
      (await view(`?find=${hash.slice(2, 12)}`)).subjects.map(({ name }) => name),
      ['Ada Lovelace'],
    )
    const byItself = await view('?find=hidden')
    assert.deepEqual([byItself.found, byItself.subjects[0]?.name], [1, undefined], 'the hash of what is looked for')
    assert.equal((await view('?find=hidde')).found, 0)
    const ends = (await view('?sort=ends&most=400')).subjects.map(({ windows }) => windows[0]?.endsInMs ?? NaN)
    assert.deepEqual(
      ends,
      ends.toSorted((a, b) => a - b),
    )
    for (const nonsense of ['?sort=%00&most=x&find=', '?most=1e9', '?sort=spent&sort=ends', '?most=-1']) {
      assertIs((await view(nonsense)).subjects.length, atLeast(25), nonsense)
    }
  })

  it('puts the windows of a subject together, the one nearest to its limit first', async (t) => {
    const { at, spend, throttled, origin } = await start(t, { routes: { '/api/slow': { limitMs: 500 } } })
    await spend('ada', 600)
    await fetch(`${origin}/api/slow/450`, { headers: { 'X-Who': 'ada' } })
    await spend('grace', 5)
    assert.equal((await throttled.usage('ada')).length, 2)
    const { subjects } = await seen(at)
    const shown = subjects.map(({ windows }) => windows.map(({ window, limitMs }) => `${window} ${limitMs}`))
    assert.deepEqual(shown, [['/api/slow 500', 'default 1000'], ['default 1000']])
  })

  it('tells who is refused, on which route, by which window, from the first second on', async (t) => {
    const { at, spend } = await start(t, { label: (subject) => subject, clock: manualClock(Date.UTC(2026, 0, 1)) })
    await spend('ada', 1_200)
    await spend('grace', 1_200)
    for (let i = 0; i < 3; i++) assert.equal(await spend('ada', 1), 429)
    assert.equal(await spend('grace', 1), 429)
    const { refusals } = await seen(at)
    const kind = { route: 'GET /api/spend/:ms', window: 'default', reason: 'spent', dryRun: false }
    assert.deepEqual(
      refusals.map(({ name, count, kinds }) => ({ name, count, kinds })),
      [
        { name: 'ada', count: 3, kinds: [{ ...kind, count: 3 }] },
        { name: 'grace', count: 1, kinds: [{ ...kind, count: 1 }] },
      ],
    )
    for (const { againInMs } of refusals) assert.ok(againInMs > 0 && againInMs <= 3_600_000, `${againInMs}`)
    for (const { subject } of refusals) assert.match(subject ?? '', /^[\w-]{24}$/)
  })

  it('names whom this process has refused, and says since when and for which reasons', async (t) => {
    for (const [pauseMs, sinceMs, count] of [
      [40_000, 40_000, 2],
      [90_000, 90_000, 1],
      [3_700_000, 0, 1],
    ] as const) {
      // prettier-ignore
      const clock = manualClock(Date.UTC(2026, 0, 1))
      const { at, spend } = await start(t, { clock })
      for (const who of ['ada', 'grace']) await spend(who, 1_200)
      assert.equal(await spend('ada', 1), 429)
      clock.advance(pauseMs)
      while ((await spend('ada', 1_200)) === 200);
      const { refusals, subjects, reasons } = await seen(at)
      assert.deepEqual(refusals.map((refused) => [refused.name, refused.sinceMs]), [['ada', sinceMs]]) // prettier-ignore
      assert.equal(subjects.find(({ subject }) => subject === refusals[0]?.subject)?.name, 'ada')
      assert.ok(
        subjects.every(({ name }) => name !== 'grace'),
        'others are hashes',
      )
      assert.deepEqual(reasons, [{ reason: 'spent', count }], 'of the last minute')
    }
  })

  it('resets one subject, by hash or by name', async (t) => {
    const { at, spend } = await start(t)
    for (const name of ['ada', 'grace']) assert.equal(await spend(name, 1_200), 200)
    const [{ subject: id = '' } = {}] = (await seen(at)).subjects
    const headers = await ownHeaders(at)
    assert.equal((await reset(at, headers, { id })).status, 200)
    const after = [await spend('ada', 0), await spend('grace', 0)]
    assert.deepEqual(after.sort(), [200, 429], 'one and no other')
    for (const name of ['ada', 'grace']) assert.equal((await reset(at, headers, { name })).status, 200)
    assert.deepEqual([await spend('ada', 0), await spend('grace', 0)], [200, 200])
    assert.equal((await reset(at, headers, { id: 'A'.repeat(24) })).status, 404)
    assert.equal((await reset(at, headers, {})).status, 400)
    assert.equal((await reset(at, headers, { name: '' })).status, 400)
  })

  it('resets for nobody but its own page', async (t) => {
    const { at, spend, origin, app } = await start(t)
    await spend('ada', 1_200)
    const own = await ownHeaders(at)
    const proxied = { Origin: 'http://ops.test', 'X-Forwarded-Host': 'ops.test:80, inner' }
    const { 'Sec-Fetch-Site': site = '', ...proof } = own
    const foreign: [string, Record<string, string>][] = [
      ['nothing', {}],
      ['no word of where it comes from', proof],
      ['another site', { ...own, 'Sec-Fetch-Site': 'cross-site' }],
      ['a sibling', { ...own, 'Sec-Fetch-Site': 'same-site' }],
      ['typed in', { ...own, 'Sec-Fetch-Site': 'none' }],
      ['another origin', { ...proof, Origin: 'https://evil.test' }],
      ['an opaque origin', { ...proof, Origin: 'null' }],
      ['a host of the client’s own telling', { ...proof, ...proxied }],
      ['no cookie', { ...own, Cookie: '' }],
      ['another cookie', { ...own, Cookie: `tollgate-dashboard=${'A'.repeat(43)}` }],
      ['no token', { 'Sec-Fetch-Site': site, Cookie: own.Cookie ?? '' }],
      ['another token', { ...own, 'X-CSRF-Token': 'A'.repeat(43) }],
      ['empty ones', { ...own, Cookie: 'tollgate-dashboard=', 'X-CSRF-Token': '' }],
    ]
    for (const [what, headers] of foreign) {
      assert.equal((await reset(at, headers, { name: 'ada' })).status, 403, what)
    }
    assert.equal(await spend('ada', 0), 429)
    assert.equal((await fetch(`${at}/reset?name=ada`, { headers: own })).status, 404, 'GET changes nothing')
    const older = { ...proof, Origin: origin } // a browser that knows no Sec-Fetch-Site
    assert.equal((await reset(at, older, { name: 'ada' })).status, 200)
    assert.equal(await spend('ada', 0), 200)
    app.set('trust proxy', 1)
    assert.equal((await reset(at, { ...proof, ...proxied }, { name: 'ada' })).status, 200, 'behind a proxy')
    const other = { ...proof, ...proxied, Origin: 'http://ops.test:81' }
    assert.equal((await reset(at, other, { name: 'ada' })).status, 403, 'another port')
  })

  it('adds up the processes out of Redis, and says where it cannot', async (t) => {
    const redis = await redisOfTest(t)
    const { url } = redis
    const one = await start(t, { store: redisStore(url), redis: url })
    const two = await start(t, { store: redisStore(url) })
    assert.deepEqual([await one.spend('ada', 300), await two.spend('ada', 400)], [200, 200])
    assert.equal(await two.spend('grace', 100), 200)
    // On a busy machine Redis misses a deadline now and then: it is down until the next heartbeat.
    const all = ({ subjects, totals, store }: Snapshot) =>
      subjects.length === 2 &&
      spentOf(subjects[0]) >= 700 &&
      totals.spentMs >= 800 &&
      store.processes === 2 &&
      store.down.length === 0
    const { source, subjects, trouble, store } = await seen(one.at, all)
    assert.deepEqual([source, trouble, store.shared], ['redis', undefined, true])
    const [ada, grace] = subjects
    assert.ok(ada && grace && spentOf(ada) >= 700, JSON.stringify(subjects))
    assert.deepEqual([ada.known, grace.known], [true, false], 'only the other process has seen grace')
    assert.ok(store.syncMs.some((ms) => ms !== null && ms > 0))
    const headers = await ownHeaders(one.at)
    assert.equal((await reset(one.at, headers, { id: ada.subject })).status, 200)
    const given = ({ subjects }: Snapshot) => spentOf(subjects.find((s) => s.subject === ada.subject)) < 300
    await seen(one.at, given)
    assert.equal((await reset(one.at, headers, { id: grace.subject })).status, 404)
    const stoppedAt = performance.now()
    await redis.command('config', 'set', 'maxmemory', '1') // it can still be read
    const full = await seen(one.at, ({ store }) => store.down.length === 1)
    assert.deepEqual([full.source, /\(OOM\)/.test(full.trouble ?? '')], ['process', true])
    await redis.stop()
    const alone = await seen(one.at, ({ trouble }) => /^Redis at 127\.0\.0\.1:\d+ refuses the conn/.test(trouble ?? ''))
    assert.equal(alone.source, 'process')
    assert.match(alone.store.meanwhile ?? '', /^each process applies the limits by itself/)
    assert.equal(alone.store.processes, 2)
    const [{ server, sinceMs } = {}] = alone.store.down
    assert.equal(server, 'Redis')
    assertIs(Number(sinceMs), above(0), `${sinceMs}`)
    assertIs(Number(sinceMs), below(performance.now() - stoppedAt + 5_000), `${sinceMs}`)
    const refused = await reset(one.at, headers, { name: 'ada' })
    const message = 'The store does not answer, so nothing was reset.'
    assert.deepEqual([refused.status, await refused.json()], [503, { message }])
  })

  it('names and resets those whom only other processes have served, where the store keeps their names', async (t) => {
    const redis = await redisOfTest(t)
    const { url } = redis
    const other = await start(t, { store: redisStore(url, { keepSubjects: true }) })
    const one = await start(t, { store: redisStore(url, { keepSubjects: true }), redis: url })
    const renaming = { redis: url, label: (subject: string) => subject.split(':').pop() }
    const renamed = await start(t, { store: redisStore(url), ...renaming })
    const long = `user:${'x'.repeat(100)}:grace`
    for (const [who, ms] of [['user:ada', 1_200], [long, 300]] as const) assert.equal(await other.spend(who, ms), 200) // prettier-ignore
    const both = ({ subjects }: Snapshot) => subjects.length === 2 && spentOf(subjects[1]) >= 300
    const { subjects } = await seen(one.at, both)
    assert.deepEqual(subjects.map(({ known }) => known), [true, false]) // prettier-ignore
    assert.equal(subjects[0]?.name, 'user:ada')
    assert.match(subjects[1]?.name ?? '', /^user:x+\.\.\.x+:grace$/)
    assert.deepEqual((await seen(renamed.at, both)).subjects.map(({ name }) => name), ['ada', 'grace']) // prettier-ignore
    assert.equal((await seen(one.at, undefined, '?find=ser:a')).found, 1)
    const headers = await ownHeaders(one.at)
    assert.equal((await reset(one.at, headers, { id: String(subjects[1]?.subject) })).status, 404, 'not the whole name')
    assert.equal((await reset(one.at, headers, { id: String(subjects[0]?.subject) })).status, 200)
    await until(() => other.spend('user:ada', 0), 200)
    await until(() => one.spend('user:ada', 1_200), 200)
    assert.equal(await one.spend('user:ada', 0), 429)
    const { refusals } = await seen(one.at, ({ refusals }) => refusals.length > 0)
    assert.deepEqual(refusals.map(({ name }) => name), ['user:ada']) // prettier-ignore
  })

  it('reads the top spenders of many subjects, some at a time, and whoever is looked for', async (t) => {
    const { port, url } = await redisOfTest(t)
    const admin = new Redis(port)
    t.after(() => admin.disconnect())
    const other = await start(t, { store: redisStore(url) })
    assert.deepEqual([await other.spend('ada', 1), await other.spend('grace', 900)], [200, 200])
    const record = `tollgate:w4:{${hashOf('ada')}}:3600000000:default`
    await until(
      async () => (await admin.exists(record)) === 1 && (await other.throttled.usage('ada'))[0]?.degraded === false,
    )
    // Copies of ada's record: 12,000 who have spent as much.
    await admin.call(
      'EVAL',
      `for i = 1, 12000 do
         local id = string.format('%024d', i)
         redis.call('COPY', KEYS[1], (string.gsub(KEYS[1], '{.*}', '{' .. id .. '}')))
       end`,
      ...[1, record],
    )
    const one = await start(t, { store: redisStore(url), redis: url })
    await admin.call('CONFIG', 'RESETSTAT')
    let looks = 0
    const first = await seen(one.at, ({ subjects }) => {
      looks++
      return subjects[0]?.subject === hashOf('grace')
    })
    assert.deepEqual([first.totals.more, first.subjects.length], [true, 25])
    const calls = Number(/cmdstat_hgetall:calls=(\d+)/.exec(String(await admin.call('INFO', 'commandstats')))?.[1])
    assertIs(calls, atMost((looks + 1) * 6_200), `${calls} windows were read in ${looks} looks`)
    for (const find of ['ada', hashOf('ada')]) {
      const { subjects } = await seen(one.at, ({ found }) => found === 1, `?find=${find}`)
      assert.equal(subjects[0]?.subject, hashOf('ada'), find)
    }
  })

  it('never says the password of its Redis', async (t) => {
    const port = await freePort()
    const { at } = await start(t, { redis: `redis://ada:hush@127.0.0.1:${port}` })
    const { trouble } = await seen(at)
    assert.match(trouble ?? '', new RegExp(`^Redis at 127.0.0.1:${port} refuses the connection`))
    assert.equal(trouble?.includes('hush'), false)
  })

  it('keeps a bounded number of subjects and routes, those that matter', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { app, at, origin, spend } = await start(t, { clock, limitMs: 10_000 })
    const activity = new Activity(new Set(['default']), () => clock.now(), () => {}, () => false, { stalledUs: 0 }) // prettier-ignore
    t.after(() => activity.close())
    for (let i = 0; i < 250; i++) app.get(`/api/route-${i}`, (_req, res) => void res.end())
    await spend('big', 5_000)
    for (let i = 0; i < 2_100; i += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, n) => spend(`small-${i + n}`, 1)))
    }
    for (let i = 0; i < 250; i++) await fetch(`${origin}/api/route-${i}`, { headers: { 'X-Who': 'other' } })
    const { subjects, totals, routes } = await seen(at)
    assertIs(totals.subjects, atLeast(1_000))
    assertIs(totals.subjects, below(2_000))
    assert.equal(subjects.length, 25)
    assert.equal(spentOf(subjects[0]), 5_000)
    assert.deepEqual([routes.length, activity.routes.size], [20, 200])
    assert.equal(routes[0]?.route, 'GET /api/spend/:ms')
  })

  it('forgets routes that nobody asked for in five minutes: old ones do not hide new ones', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { app, origin, at } = await start(t, { clock })
    const tree = express.Router()
    app.use('/api/Tree', tree)
    tree.all('/all', (_req, res) => void res.end())
    tree.all('/later', (_req, res) => void res.end())
    for (let i = 0; i < 210; i++) tree.get(`/${i}`, (_req, res) => void res.end())
    const shows = (isIt: (routes: string) => boolean) =>
      until(async () => {
        clock.advance(2_000) // the next look
        return isIt((await seen(at)).routes.map(({ route }) => route).sort().join(', ')) // prettier-ignore
      })
    // Neither a method that the app has not written nor upper case makes another line.
    for (const method of ['PROPFIND', 'MKCOL', 'SEARCH', 'M-SEARCH', 'GET', 'PURGE'])
      await fetch(`${origin}/api/tree/all`, { method })
    for (const path of ['/api/TREE/all', '/API/tREE/ALL', '/api/Tree/all']) await fetch(origin + path)
    await shows((routes) => routes === 'GET /api/tree/all, OTHER /api/tree/all')
    for (let i = 0; i < 210; i++) await fetch(`${origin}/api/tree/${i}`)
    await fetch(`${origin}/api/tree/later`)
    await shows((routes) => routes.includes('GET /api/tree/'))
    clock.advance(300_000)
    await shows((routes) => routes === '')
    await fetch(`${origin}/api/tree/later`)
    await shows((routes) => routes === 'GET /api/tree/later')
  })

  it('ends its streams when it is closed, and after five minutes so that the guard is asked again', async (t) => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const { at, dashboard } = await start(t, { clock })
    let ended = 0
    const watch = async () => {
      const answer = await fetch(`${at}/events`)
      void answer.text().then(() => ended++)
    }
    await watch()
    clock.advance(299_999)
    await watch()
    assert.equal(ended, 0)
    clock.advance(1)
    await until(() => ended, 1)
    void dashboard.close()
    void dashboard.close()
    await until(() => ended, 2)
  })
})

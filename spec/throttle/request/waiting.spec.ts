import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it, type TestContext } from 'node:test'
import express, { type Express } from 'express'
import { type RefusedMessage, ThrottledError, throttle, type ThrottleOptions } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { tooMany } from '../../../lib/throttle/request/refusal'
import { get, listen } from '../../support/serve'
import { until } from '../../support/until'

/** A window so long that none ends during a spec. */
const WINDOW = {
  limitMs: 1_000,
  windowMs: 2_592_000_000,
  subject: (req) => String(req.headers.user ?? 'ada'),
} satisfies ThrottleOptions

/** What handlers worked, by their own clock: the truth that the throttle is held to. */
class WorkLog {
  ms = 0
  running = 0
  mostRunning = 0
  readonly order: string[] = []
}

async function appWith(t: TestContext, options: ThrottleOptions = {}, mount?: (app: Express) => void) {
  const log = new WorkLog()
  const app = express()
  mount?.(app)
  app.use(throttle({ ...WINDOW, ...options }))
  app.get('/work/:ms', (req, res) => {
    const begun = performance.now()
    log.order.push(req.url.split('n=')[1] ?? '')
    log.mostRunning = Math.max(log.mostRunning, ++log.running)
    setTimeout(() => {
      log.running--
      log.ms += performance.now() - begun
      res.json({})
    }, Number(req.params.ms))
  })
  const { url, close, server } = await listen(app)
  t.after(close)
  const ask = (path: string, user = 'ada') => get(url + path, { user })
  return { log, ask, url, server }
}

/** An app whose time is a clock's: no stall of the machine makes a request longer than `workMs`. */
async function timedApp(t: TestContext, workMs: number, options: ThrottleOptions = {}) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const app = express()
  app.use(throttle({ ...WINDOW, ...options, clock }))
  let worked = 0
  app.get('/', (_req, res) => void clock.after(workMs, () => void res.json((worked += workMs))))
  const { get, close } = await listen(app)
  t.after(close)
  const passTimeUntil = async <T>(asked: Promise<T>): Promise<T> => {
    let isOver = false
    void asked.finally(() => (isOver = true))
    while (!isOver) {
      clock.advance(5)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return asked
  }
  return { get, worked: () => worked, passTimeUntil }
}

const statuses = (answers: readonly { readonly status: number }[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

const many = <T>(n: number, one: (i: number) => Promise<T>) => Promise.all(Array.from({ length: n }, (_, i) => one(i)))

describe('throttle() lets a request wait that fits in what is left, but not beside the holds', () => {
  it('refuses none of a page of six parallel calls on a route that nobody knows yet', async (t) => {
    for (const limitMs of [18_000, 5_000, 1_000]) {
      const { ask } = await appWith(t, { limitMs })
      assert.deepEqual(statuses(await many(6, () => ask('/work/30'))), { 200: 6 }, `${limitMs} ms`)
    }
  })

  it('refuses none of a fresh user on a route where another one was slow', async (t) => {
    const { ask } = await appWith(t, { limitMs: 2_000 })
    await many(4, () => ask('/work/400', 'slow'))
    for (let user = 0; user < 5; user++) {
      assert.deepEqual(statuses(await many(6, () => ask('/work/10', `user-${user}`))), { 200: 6 })
    }
  })

  it('admits no more than the limit and the longest request, though 300 come at once', async (t) => {
    const { get, worked, passTimeUntil } = await timedApp(t, 100, { wait: { perSubject: 1_000 } })
    const counts = statuses(await passTimeUntil(many(300, () => get('/'))))
    assert.equal((counts[200] ?? 0) * 100, worked())
    assert.equal((counts[200] ?? 0) + (counts[429] ?? 0), 300)
    assert.ok(worked() >= 900 && worked() <= 1_100, `worked ${worked()} ms`)
  })

  it('decides first come, first served', async (t) => {
    const came: string[] = []
    const { ask, log } = await appWith(t, {}, (app) => {
      app.use((req, _res, next) => {
        came.push(req.url.split('n=')[1] ?? '')
        next()
      })
    })
    await many(30, (i) => ask(`/work/20?n=${i}`))
    assert.deepEqual(
      log.order,
      came.filter((n) => log.order.includes(n)),
    )
  })

  it('charges nothing for the wait, and counts none of it as processing time', async (t) => {
    const { get, passTimeUntil } = await timedApp(t, 60)
    const answers = await passTimeUntil(many(8, () => get('/')))
    assert.deepEqual(statuses(answers), { 200: 8 })
    assert.deepEqual(
      answers.map((answer) => answer.number('X-PROCESSING-TIME')),
      Array(8).fill(60),
    )
    assert.equal(Math.max(...answers.map((answer) => answer.number('X-THROTTLE-MILLIS-USED'))), 8 * 60)
  })

  it('lets requests of other subjects pass while 500 of one wait or are refused', async (t) => {
    const { ask } = await appWith(t)
    const crowd = many(500, () => ask('/work/100', 'crowd'))
    const others = await many(20, (i) => ask('/work/5', `user-${i}`))
    assert.deepEqual(statuses(others), { 200: 20 })
    await crowd
  })
})

describe('throttle() says why it refuses', () => {
  const refusals = (t: TestContext) => {
    const heard: RefusedMessage[] = []
    const listener = (message: unknown) => void heard.push(message as RefusedMessage)
    subscribe('express-tollgate:refused', listener)
    t.after(() => unsubscribe('express-tollgate:refused', listener))
    return heard
  }

  it('spent: with the end of the window as Retry-After', async (t) => {
    const heard = refusals(t)
    const { ask } = await appWith(t, { limitMs: 1, windowMs: 86_400_000 })
    await ask('/work/20')
    const refused = await ask('/work/20')
    assert.equal(refused.status, 429)
    assert.equal(heard[0]?.reason, 'spent')
    assert.ok((heard[0]?.figures?.spentMs ?? 0) > 1)
    assert.equal(heard[0]?.figures?.limitMs, 1)
  })

  it('reserved: after the longest wait, with the end of a hold as Retry-After, a second at least', async (t) => {
    const heard = refusals(t)
    const { ask, log } = await appWith(t, { limitMs: 2_000, wait: { maxMs: 100 } })
    const first = many(2, () => ask('/work/900'))
    await until(() => log.running === 2)
    const refused = await ask('/work/900')
    assert.deepEqual([refused.status, refused.number('Retry-After')], [429, 1])
    assert.equal(heard[0]?.reason, 'reserved')
    assert.ok((heard[0]?.figures?.spentMs ?? 0) < 2_000)
    await first
  })

  it('queue: at once, where too many wait', async (t) => {
    const heard = refusals(t)
    const { ask, log } = await appWith(t, { limitMs: 6_000, wait: { perSubject: 3 } })
    const answers = many(10, () => ask('/work/1000'))
    await until(() => heard.length === 5)
    assert.equal(log.running, 2)
    assert.ok(heard.every(({ reason }) => reason === 'queue'))
    assert.equal(statuses(await answers)[200], 5)
  })

  it('reserved, at once, with wait: false', async (t) => {
    const heard = refusals(t)
    const { ask } = await appWith(t, { wait: false })
    assert.deepEqual(statuses(await many(6, () => ask('/work/400'))), { 200: 2, 429: 4 })
    assert.deepEqual(
      heard.map(({ reason }) => reason),
      ['reserved', 'reserved', 'reserved', 'reserved'],
    )
  })

  it('in the body, in words that are true of the reason', async (t) => {
    const bodies = async (options: ThrottleOptions, ms: number) => {
      const { ask } = await appWith(t, { ...options, errorFormat: 'problem' })
      const answers = [...(await many(6, () => ask(`/work/${ms}`))), await ask(`/work/${ms}`)]
      const refused = answers.filter(({ status }) => status === 429)
      return [...new Set(refused.map(({ body }) => (JSON.parse(body) as { detail: string }).detail))]
    }
    assert.deepEqual(await bodies({ limitMs: 1 }, 20), [
      'No processing time is left in the window "default" for this request',
    ])
    assert.deepEqual(await bodies({ limitMs: 6_000, wait: false }, 400), [
      'Running requests have reserved what is left in the window "default". Try again when they have ended',
    ])
    assert.deepEqual(await bodies({ limitMs: 6_000, wait: { perSubject: 1 } }, 400), [
      'Too many requests wait already for processing time in the window "default". Send fewer at the same time',
    ])
    assert.match(
      tooMany({ reason: 'outage', figures: { window: 'default' } as never, retryAfterUs: 1 }, 1).message,
      /^Less processing time than usual can be granted in the window "def/,
    )
  })

  it('on the error, for onDenied', async (t) => {
    const errors: ThrottledError[] = []
    const { ask } = await appWith(t, {
      limitMs: 6_000,
      wait: false,
      onDenied: (err, _req, res) => {
        assert.ok(err instanceof ThrottledError)
        errors.push(err)
        res.status(429).end()
      },
    })
    await many(4, () => ask('/work/400'))
    assert.equal(errors.length, 2)
    const [err] = errors
    assert.equal(err?.reason, 'reserved')
    assert.equal(err?.figures?.window, 'default')
    assert.ok((err?.figures?.heldMs ?? 0) > 5_400)
    assert.equal(err?.figures?.othersAgeMs, null)
  })
})

describe('throttle(), where a waiting request ends otherwise', () => {
  it('lets go of a waiting request whose client goes, and its place is free', async (t) => {
    // Two run, each held at half of the limit; what they take is far from it, however busy the machine is.
    const { ask, log, url } = await appWith(t, { limitMs: 6_000, wait: { perSubject: 1 } })
    const running = many(2, () => ask('/work/1000'))
    await until(() => log.running === 2)
    const leaving = new AbortController()
    const left = fetch(`${url}/work/1?n=left`, { headers: { user: 'ada' }, signal: leaving.signal }).catch(
      () => undefined,
    )
    await new Promise((resolve) => setTimeout(resolve, 60))
    leaving.abort()
    await left
    await new Promise((resolve) => setTimeout(resolve, 60))
    assert.equal((await ask('/work/1?n=next')).status, 200)
    assert.deepEqual(statuses(await running), { 200: 2 })
    assert.ok(!log.order.includes('left'))
  })

  it('keeps the request own AsyncLocalStorage, and errors of onDenied reach the app', async (t) => {
    const failures: unknown[] = []
    const app = express()
    app.use(
      throttle({
        ...WINDOW,
        wait: { maxMs: 20 },
        onDenied: () => {
          throw new Error('from onDenied')
        },
      }),
    )
    app.get('/work', (_req, res) => void setTimeout(() => res.end(), 300))
    app.use((err: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
      failures.push(err.message)
      res.status(500).end()
    })
    const { get, close } = await listen(app)
    t.after(close)
    assert.deepEqual(statuses(await many(3, () => get('/work'))), { 200: 2, 500: 1 })
    assert.deepEqual(failures, ['from onDenied'])
  })
})

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import express, { type Response } from 'express'
import { type ThrottleOptions, redisStore, throttle } from '../../../lib'
import { databaseOfSuite } from '../../support/redis'
import { serve } from '../../support/serve'
import { ready } from '../../support/ready'
import { assertIs, atLeast, atMost, until } from '../../support/until'

/** So long that no window ends amid a spec. */
const WINDOW_MS = 2_592_000_000

/** Throttles in a row, by their paths: `/` is the outermost. Handlers run until the spec ends them. */
async function rowOf(t: TestContext, options: ThrottleOptions, inner: Readonly<Record<string, ThrottleOptions>>) {
  const running = new Map<Response, string>()
  const shared = { windowMs: WINDOW_MS, subject: () => 'ada', ...options }
  const throttles = Object.entries({ '/': {}, ...inner }).map(([path, own]) => {
    return { path, throttled: throttle({ ...shared, name: `row ${path}`, ...own }) }
  })
  const app = express()
  for (const { path, throttled } of throttles) app.use(path, throttled)
  app.use((req, res) => void running.set(res, req.path))
  const { url } = await serve(app)
  t.after(() => Promise.all(throttles.map(({ throttled }) => throttled.close())))
  await ready(...throttles.map(({ throttled }) => throttled))
  const answers: number[] = []
  const ask = async (path: string) => {
    const res = await fetch(url + path)
    answers.push(res.status)
    return { status: res.status, body: (await res.json().catch(() => undefined)) as { reason?: string } | undefined }
  }
  const end = (res: Response) => {
    running.delete(res)
    res.end()
  }
  return { ask, running, end, answers }
}

describe('throttle() below throttle(): who waits for an inner window keeps its place in the outer ones', () => {
  const own = databaseOfSuite()

  const ROOM = { limitMs: 600_000, wait: { maxMs: 60_000, perSubject: 128 } }
  /** Two at a time while nothing is known of the route: each reserves half. */
  const NARROW = { limitMs: 6_000, wait: ROOM.wait }
  const ROWS: Readonly<Record<string, Readonly<Record<string, ThrottleOptions>>>> = {
    two: { '/a': NARROW },
    'two, with two inner ones side by side': { '/a': NARROW, '/b': NARROW },
    three: { '/a': { ...NARROW, limitMs: 60_000 }, '/a/b': NARROW },
  }

  for (const isShared of [false, true])
    for (const [title, inner] of Object.entries(ROWS))
      it(`never more than 32 run at once: ${title}${isShared ? ', two processes over Redis' : ''}`, async (t) => {
        const prefix = `${Math.random()}:`
        const row = () =>
          rowOf(t, isShared ? { ...ROOM, store: redisStore(own.url, { prefix, deadlineMs: 500 }) } : ROOM, inner)
        const rows = isShared ? [await row(), await row()] : [await row()]
        const count = () => rows.reduce((sum, { running }) => sum + running.size, 0)
        const answered = () => rows.reduce((sum, { answers }) => sum + answers.length, 0)
        const paths = Object.keys(inner)
        let most = 0
        const asked = paths.flatMap((path) =>
          Array.from({ length: 40 }, (_, i) => (rows[i % rows.length] as (typeof rows)[0]).ask(path)),
        )
        await until(count, atLeast(2))
        for (let i = 0; i < 40; i++) asked.push((rows[i % rows.length] as (typeof rows)[0]).ask('/'))
        while (answered() < asked.length) {
          await until(() => count() > 0 || answered() === asked.length)
          most = Math.max(most, count())
          for (const { running, end } of rows) {
            // One that runs for long keeps its place, so that all who were let in meanwhile run beside it.
            const all = [...running]
            for (const [res, path] of all.filter(([, path]) => path !== '/')) if (path) end(res)
            const [first] = running.keys()
            if (first !== undefined) end(first)
          }
        }
        assertIs(most, atMost(32), `${most} ran at once`)
        for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
      })
})

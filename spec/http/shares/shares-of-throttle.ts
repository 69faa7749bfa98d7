import assert from 'node:assert/strict'
import { get } from 'node:http'
import express, { type Request } from 'express'
import { type ThrottleOptions, budgetOf, throttle } from '../../../lib'
import { throttleDashboard } from '../../../lib/dashboard'
import { manualClock } from '../../../lib/testing'
import { Account } from '../../../lib/throttle/budget/account'
import { Hold } from '../../../lib/throttle/budget/hold'
import { Overload } from '../../../lib/throttle/overload/overload'
import { Accounts } from '../../../lib/throttle/store/accounts'
import { heapBytes, kept } from '../../support/kept'
import { serve } from '../../support/serve'
import { assertIs, below, until } from '../../support/until'
import { SpecRequest } from '../../throttle/spec-request'
import { ADA, EVE, type Shares } from './shares'

/** A network of its own for each number, all of one block. */
const ofOneBlock = (i: number) => `2001:db8:${(i >> 8).toString(16)}:${((i & 255) << 8).toString(16)}::1`

/** A throttled app of which each request names its address, and a user where one is signed in. */
async function throttled(options: ThrottleOptions) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const app = express().set('trust proxy', 1)
  const subject = (req: Request) => req.get('x-user')
  const throttled = throttle({ windowMs: 60_000, clock, subject, ...options })
  app.use(throttled)
  const { get, url } = await serve(app)
  const ask = async (path: string, ip: string, user?: string) =>
    (await get(path, { 'x-forwarded-for': ip, ...(user && { 'x-user': user }) })).status
  return { app, clock, throttled, ask, url }
}

export const SHARES_OF_THROTTLE: Shares = {
  'subjects that a process tells apart': [
    async () => {
      const { app, clock, ask, throttled: throttle } = await throttled({ maxSubjects: 50, limitMs: 1_000 })
      app.get('/:ms', (req, res) => (budgetOf(req).charge(Number(req.params.ms)), res.end()))
      const before = kept(Account)
      for (let i = 0; i < 500; i++) await ask('/0', ofOneBlock(i))
      assert.ok(kept(Account) - before <= 51, `${kept(Account) - before} are told apart`)
      assert.deepEqual([await ask('/1000', ADA, 'carol'), await ask('/0', ADA, 'carol')], [200, 429])
      assert.equal(await ask('/0', ADA, 'ada'), 200, 'a newcomer has a budget of her own')
      clock.advance(2 * 60_000)
      assert.equal(kept(Account), before)
      await throttle.close()
    },
  ],
  'requests that wait': [
    () => {
      const clock = manualClock()
      const accounts = new Accounts('default', { windowUs: 600_000_000, carryOvershoot: false }, clock)
      const now = () => Math.round(clock.now() * 1_000)
      const terms = { price: () => 1_000_000, limitUs: 1_000_000, waitUs: 5_000_000 } // the first reserves all
      const ask = (subject: string, ip: string, count: number) => {
        accounts.payer(subject, 1_000_000, { ip } as Request, now())
        return Array.from({ length: count }, () => new SpecRequest(accounts, subject, now(), terms))
      }
      const ada = ask('ada', ADA, 50)
      for (let i = 0; i < 800; i++) ask(`eve-${i}`, ofOneBlock(i), 52)
      assert.equal(
        [...accounts].reduce((sum, { line }) => sum + line.length, 0),
        4_096,
      )
      ada[0]?.start(now()).finish(now())
      assert.deepEqual(ada.map(({ end }) => end).slice(0, 3), ['start', 'start', undefined])
      clock.advance(5_025)
      assert.equal(
        [...accounts].reduce((sum, { line }) => sum + line.length, 0),
        0,
      )
      ada.length = 0
      assert.equal(kept(Hold), 801, 'only what runs is left')
    },
  ],
  'what newcomers learn a price from': [
    async () => {
      const { app, clock, ask, throttled: throttle } = await throttled({ limitMs: 9_000, windowMs: 600_000 })
      const before = kept(Account)
      const running: (() => void)[] = []
      app.get('/search', (_req, res) => void running.push(() => res.end()))
      const take = async (ms: number, count: number, from: (i: number) => [ip: string, user?: string]) => {
        const all = Array.from({ length: count }, (_, i) => ask('/search', ...from(i)))
        await until(() => running.length, count)
        clock.advance(ms)
        for (const end of running.splice(0)) end()
        await Promise.all(all)
      }
      await take(1_400, 32, (i) => [`203.${i}.113.7`])
      await take(8_500, 320, (i) => [ofOneBlock(i)])
      await take(0, 6, () => [ADA, 'ada']) // all six at once: each is expected to take 1.4 s
      clock.advance(2 * 600_000)
      assert.equal(kept(Account), before)
      await throttle.close()
    },
  ],
  'what an overloaded process lets in': [
    () => {
      const clock = manualClock()
      const overload = new Overload(clock, () => 0.5)
      const leave = overload.join({ loopDelayMs: 50, isOverloaded: () => true })
      const isRefused = (subject: string, us = 1_000) => overload.refuses({}, subject, us)
      isRefused('user:ada')
      for (let i = 0; i < 10; i++) isRefused('user:eve', 100_000)
      for (let i = 0; i < 1_000; i++) isRefused(`address:${ofOneBlock(i)}`)
      clock.advance(1_000)
      assert.deepEqual(
        [isRefused('user:ada'), isRefused('user:eve', 100_000), isRefused(`address:${ofOneBlock(0)}`)],
        [false, true, true],
      )
      /** As many payers as are told apart, ten times; and time in which all are forgotten. Returns what the heap has then. */
      const flood = () => {
        for (let i = 0; i < 100_000; i++) isRefused(`user:${i}`)
        assert.equal(isRefused('user:ada'), false)
        clock.advance(600_000)
        assert.equal(isRefused('user:ada'), false)
        clock.advance(25)
        return heapBytes()
      }
      const once = flood()
      assertIs(flood() - once, below(300_000))
      leave()
    },
  ],
  'viewers of the dashboard': [
    async () => {
      const { app, url, throttled: throttle } = await throttled({})
      const dashboard = throttleDashboard(throttle, { guard: (_req, _res, next) => next() })
      app.use('/admin', dashboard)
      const open = new Set<{ destroy: () => void; ip: string }>()
      const watch = (ip: string) =>
        new Promise<number>((resolve) => {
          const sent = get(`${url}/admin/events`, { headers: { 'x-forwarded-for': ip } }, (response) => {
            const stream = { destroy: () => sent.destroy(), ip }
            response
              .resume()
              .on('close', () => open.delete(stream))
              .on('error', () => undefined)
            if (response.statusCode === 200) open.add(stream)
            resolve(response.statusCode ?? 0)
          })
        })
      const first = await Promise.all(Array.from({ length: 500 }, () => watch(EVE)))
      assert.equal(first.filter((status) => status === 200).length, 50)
      assert.deepEqual([await watch(ADA), await watch(EVE)], [200, 503])
      await until(() => [...open].map(({ ip }) => ip).sort(), [...Array<string>(49).fill(EVE), ADA])
      for (const stream of open) stream.destroy()
      await until(() => watch(EVE), 200, { about: 'viewers have left: there is a place' })
      await dashboard.close()
      await until(() => open.size, 0)
      await throttle.close()
    },
  ],
}

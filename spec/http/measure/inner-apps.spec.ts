// A throttle before an app of the same or another version of Express still measures its responses.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { Express, RequestHandler } from 'express'
import { budgetOf, throttle } from '../../../lib'
import { type ManualClock, manualClock } from '../../../lib/testing'
import { EXPRESS_VERSIONS } from '../../support/express-versions'
import { connected, serve } from '../../support/serve'
import { until } from '../../support/until'

/** No window ends amid a spec. */
const DAY_MS = 86_400_000
/** More than the kernel takes from one side of a connection while the other does not read. */
const MORE_THAN_BUFFERS = Buffer.alloc(48 * 2 ** 20, 'x')

/** How an app gets to another one, which gives request and response prototypes of its own. */
const CALLS: Record<string, (outer: Express, inner: Express) => void> = {
  'called by a middleware': (outer, inner) => void outer.use((req, res, next) => void inner(req, res, next)),
  'called after another middleware has waited': (outer, inner) =>
    void outer.use((req, res, next) => void setImmediate(() => void inner(req, res, next))),
  'chosen by its host': (outer, inner) => void outer.use(vhost('localhost', inner)),
  mounted: (outer, inner) => void outer.use('/', inner),
}

/** As the package of that name does it. */
function vhost(host: string, app: Express): RequestHandler {
  return (req, res, next) => (req.hostname === host ? void app(req, res, next) : next())
}

for (const [outerVersion, outerExpress] of EXPRESS_VERSIONS) {
  for (const [innerVersion, innerExpress] of EXPRESS_VERSIONS) {
    for (const [way, call] of Object.entries(CALLS)) {
      // Express 5 does not mount an app of Express 4, nor the other way round.
      if (way === 'mounted' && outerVersion !== innerVersion) continue

      describe(`throttle() on ${outerVersion} and an app of ${innerVersion}, ${way}`, () => {
        async function apps(build: (inner: Express, clock: ManualClock) => void) {
          const clock = manualClock(Date.UTC(2026, 0, 1))
          const throttled = throttle({ subject: () => 'ada', windowMs: DAY_MS, clientWaitMs: DAY_MS, clock })
          const [outer, inner] = [outerExpress(), innerExpress()]
          const signals: AbortSignal[] = []
          outer.use(throttled, (req, _res, next) => (signals.push(budgetOf(req).signal), next()))
          build(inner, clock)
          call(outer, inner)
          const listening = await serve(outer)
          const { port } = listening
          const answer = (path = '/') => fetch(`http://localhost:${port}${path}`)
          const usage = async () => (await throttled.usage('ada'))[0]?.spentMs
          return { port, clock, signals, answer, usage }
        }

        it('keeps the fields of the response, charges it, and does not abort the signal of one that was ended', async () => {
          const { answer, usage, signals } = await apps((inner, clock) => {
            inner.get('/', (_req, res) => {
              clock.advance(120)
              res.json({})
            })
          })
          const { headers } = await answer()
          assert.equal(headers.get('X-PROCESSING-TIME'), '120')
          assert.equal(headers.get('X-THROTTLE-MILLIS-USED'), '120')
          assert.equal(headers.get('X-THROTTLE-MILLIS-LEFT'), '17880')
          await answer('/missing')
          assert.equal(await usage(), 120)
          assert.deepEqual(
            signals.map(({ aborted }) => aborted),
            [false, false],
          )
        })

        it('leaves out the time that a slow reader takes', async (t) => {
          let response: ServerResponse | undefined
          const { port, clock, usage } = await apps((inner, clock) => {
            inner.get('/', (_req, res) => {
              clock.advance(100)
              res.write(MORE_THAN_BUFFERS)
              response = res
            })
          })
          const socket = (await connected(t, port)).pause()
          socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
          await until(() => response?.writableNeedDrain)
          const drained = once(response as ServerResponse, 'drain')
          clock.advance(60_000)
          socket.resume()
          await drained
          clock.advance(40)
          response?.end()
          assert.equal(await usage(), 140)
        })

        it('aborts the signal where the client goes away', async (t) => {
          const { port, signals, usage, clock } = await apps((inner) => void inner.get('/', () => undefined))
          const socket = await connected(t, port)
          socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
          await until(() => signals.length, 1)
          socket.destroy()
          await until(() => signals[0]?.aborted)
          clock.advance(70)
          assert.equal(await usage(), 70)
          clock.advance(30_000)
          assert.equal(await usage(), 18_000 / 32) // written off: nobody knows the route
        })
      })
    }
  }
}

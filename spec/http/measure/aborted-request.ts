import type { TestContext } from 'node:test'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { type ThrottleOptions, budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import type { EXPRESS_VERSIONS } from '../../support/express-versions'
import { connected, serve } from '../../support/serve'
import { until } from '../../support/until'

type Express = (typeof EXPRESS_VERSIONS)[number][1]

/** A request as its handler sees it. `work` moves the clock, and nothing else does while a handler is at work. */
export interface Handling {
  readonly req: Request
  readonly res: Response
  readonly next: NextFunction
  readonly express: Express
  readonly work: (ms: number) => void
  /** The client goes away, and the server has noticed. */
  readonly clientLeaves: () => Promise<void>
}

export interface Way {
  /** Resolves when the handler, and what it called, does no more. */
  readonly handle: (handling: Handling) => unknown
  readonly workedMs: number
  /** What is charged in the end where the handler does not end its response. Default: what was worked. */
  readonly chargedMs?: number
  readonly request?: string
}

/** A 32nd of the limit: after so long without a sign of its handler a request on an unknown route is written off. */
export const UNSEEN_MS = 18_000 / 32
/** What requests of a known route take. */
export const KNOWN_MS = 1_000
const KNOWN_FROM = 8
/** No window ends amid a spec. */
const DAY_MS = 86_400_000

const photo = 'GET /photo HTTP/1.1\r\nHost: x\r\n\r\n'

/** What is charged when the handler does no more, and half a minute later; and how long it had worked when it lost its client. */
export async function charged(
  t: TestContext,
  express: Express,
  { handle, workedMs, request = photo }: Way,
  { isKnown = false, ...options }: ThrottleOptions & { readonly isKnown?: boolean } = {},
) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const throttled = throttle({ subject: () => 'ada', windowMs: DAY_MS, clock, ...options })
  const app = express()
  app.set('env', 'test') // keeps Express's own error log quiet
  app.use(throttled)
  const signals: AbortSignal[] = []
  let [taught, leftAt] = [isKnown ? 0 : KNOWN_FROM, 0]
  const handled: RequestHandler = (req, res, next) => {
    if (taught++ < KNOWN_FROM) {
      clock.advance(KNOWN_MS)
      return void res.end()
    }
    const { signal } = budgetOf(req)
    const begun = clock.now()
    signal.addEventListener('abort', () => (leftAt = clock.now() - begun))
    const clientLeaves = async () => {
      socket.destroy()
      await until(() => signal.aborted)
    }
    const work = (ms: number) => clock.advance(ms)
    void Promise.resolve(handle({ req, res, next, express, work, clientLeaves }))
      .catch(next)
      .then(() => (signals.push(signal), undefined))
  }
  app.use(handled)
  const { port, raw } = await serve(app)
  const ended = request.replace(/Content-Length: [1-9]\d*|\r\n\r\n.*$/gs, (field) =>
    field[0] === 'C' ? 'Content-Length: 0' : '\r\nConnection: close\r\n\r\n',
  )
  while (taught < KNOWN_FROM) await raw(ended)
  const spentMs = async () => ((await throttled.usage('ada'))[0]?.spentMs ?? NaN) - beforeMs
  let beforeMs = 0
  beforeMs = await spentMs()
  const socket = await connected(t, port)
  socket.write(request)
  await until(() => signals.length, 1)
  await until(() => signals[0]?.aborted)
  const expectedMs = options.endsWithClient ? leftAt : workedMs
  await until(spentMs, expectedMs, { ms: 2_000 }).catch(() => undefined) // what differs is shown below
  const atOnce = await spentMs()
  clock.advance(30_000)
  return { atOnce, later: await spentMs(), leftAt }
}

import type { AddressInfo } from 'node:net'
import express from 'express'
import { type Throttle, throttle } from '../../../../lib/throttle/throttle'
import type { ThrottleOptions } from '../../../../lib/throttle/options'
import { throttleTest } from '../../../../lib/throttle/throttle-test'

export interface Answer {
  readonly status: number
  readonly retryAfterSec: number
  /** What the subject has used of its window, as the answer says; NaN for a refusal. */
  readonly usedMs: number
}

/** An app behind a throttle, as one process of a deployment has it. */
export interface ThrottledApp {
  readonly throttled: Throttle
  /** Asks as this subject, and is charged this much. */
  charge(subject: string, ms: number): Promise<Answer>
  /** Asks a handler that answers when it is let go; `running` holds one function for each that runs. */
  wait(subject: string): Promise<Answer>
  readonly running: (() => void)[]
  spentMs(subject: string): Promise<number>
  close(): Promise<void>
}

/** Serves such an app on a free port of the loopback interface, and waits until its store answers. */
export async function throttledApp(options: ThrottleOptions): Promise<ThrottledApp> {
  const subject = (req: express.Request) => decodeURIComponent(req.get('x-subject') ?? '')
  const throttled = throttle({ limitMs: 10_000, windowMs: 86_400_000, ...options, subject })
  const running: (() => void)[] = []
  const app = express()
  app.use(throttled)
  app.get('/charge', throttleTest())
  app.get('/wait', (_req, res) => void running.push(() => res.end()))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function ask(path: string, who: string): Promise<Answer> {
    const response = await fetch(url + path, { headers: { 'x-subject': encodeURIComponent(who) } })
    await response.arrayBuffer()
    const field = (name: string) => Number(response.headers.get(name) ?? NaN)
    return { status: response.status, retryAfterSec: field('retry-after'), usedMs: field('x-throttle-millis-used') }
  }
  const usage = async (who: string) => (await throttled.usage(who))[0]
  const opened: ThrottledApp = {
    throttled,
    running,
    charge: (who, ms) => ask(`/charge?processingTime=${ms}`, who),
    wait: (who) => ask('/wait', who),
    spentMs: async (who) => (await usage(who))?.spentMs ?? NaN,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await throttled.close()
    },
  }
  await eventually('the store answers', async () => (await usage('nobody'))?.degraded === false).catch(
    async (err: unknown) => {
      await opened.close()
      throw err
    },
  )
  return opened
}

/** Waits until something holds, and says what it waited for where it does not within ten seconds. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within 10 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

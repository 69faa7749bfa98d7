import type { TestContext } from 'node:test'
import express, { type Request, type Response } from 'express'
import { type ThrottleOptions, throttle } from '../../../lib/index'
import { manualClock } from '../../../lib/testing'
import { connected, serve } from '../../support/serve'
import { until } from '../../support/until'

export interface Handling {
  readonly req: Request
  readonly res: Response
}

/** An API behind a limit of 1,000 ms a minute. Its handlers run until the spec ends them, and its time is the spec's. */
export async function heldApi(t: TestContext, options: ThrottleOptions = {}) {
  const clock = manualClock(Date.UTC(2026, 0, 1)) // windows then begin when they did in every run
  const throttled = throttle({ subject: () => 'ada', limitMs: 1_000, windowMs: 60_000, wait: false, clock, ...options })
  const app = express().use(throttled)
  const running: Handling[] = []
  let asked = 0
  app.use((req, res) => void (req.query.quick === undefined ? running.push({ req, res }) : res.end()))
  const { port, server, url } = await serve(app)
  server.on('request', () => asked++)
  const open = async (path: string, fields = '', method = 'GET') => {
    const socket = await connected(t, port)
    const heard = asked + 1
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`)
    await until(() => asked, heard)
    return socket
  }
  /** Asks one after the other, and returns how many run then that did not before. */
  const burst = async (requests: number, path = '/work'): Promise<number> => {
    const before = running.length
    for (let i = 0; i < requests; i++) await open(path)
    return running.length - before
  }
  /** Quick requests: the price of those that follow is 0. */
  const teachQuick = async (path = '/work', method = 'GET'): Promise<void> => {
    for (let i = 0; i < 8; i++) await fetch(`${url}${path}?quick`, { method })
  }
  const endAll = (): void => {
    for (const { res } of running.splice(0)) res.end()
  }
  const spentMs = async (): Promise<number | undefined> => (await throttled.usage('ada'))[0]?.spentMs
  const enterNextWindow = async (): Promise<void> => clock.advance((await throttled.usage('ada'))[0]?.endsInMs ?? 0)
  return { clock, throttled, running, open, burst, teachQuick, endAll, spentMs, enterNextWindow }
}

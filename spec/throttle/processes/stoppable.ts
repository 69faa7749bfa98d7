// A process that a spec stops by SIGSTOP amid requests, or that blocks its event loop: driven over HTTP. A request is in
// flight until `/end`, which says for how long it was.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { throttle } from '../../../lib'

const throttled = throttle({
  ...{ limitMs: 86_400_000, windowMs: 2_592_000_000 },
  subject: (req) => req.path,
})
const app = express()
const inFlight = new Map<string, { from: number; end: () => void }>()
app.get('/in-flight', (_req, res) => void res.json(inFlight.size))
app.get('/end', async (_req, res) => {
  const missing: Record<string, number> = {}
  for (const [path, { from, end }] of inFlight) {
    end()
    const [usage] = await throttled.usage(path)
    missing[path] = performance.now() - from - Number(usage?.spentMs)
    await throttled.reset(path)
  }
  inFlight.clear()
  res.json(missing)
})
app.use(throttled, (req, res) => {
  inFlight.set(req.path, { from: performance.now(), end: () => void res.end() })
  if (req.query.blocks === undefined) return
  // In a later turn: in its first one a request pays for what it does in any case.
  setTimeout(() => {
    const until = performance.now() + 1_200
    if (req.query.blocks === 'waiting') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200)
    else while (performance.now() < until);
  }, 20)
})
const server = app.listen(0, '127.0.0.1', () =>
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`),
)

// One process of an API behind throttle() over Redis: started by child.ts, driven over HTTP, heard on its output.
import { subscribe } from 'node:diagnostics_channel'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import {
  type ChargedMessage,
  type ThrottleOptions,
  redisStore,
  requireBearer,
  throttle,
  throttleTest,
} from '../../../lib'

const { redis, options, bearer } = JSON.parse(process.argv[2] as string) as {
  redis: string
  options: ThrottleOptions
  /** With it tokens say who pays, else the field `X-User`. */
  bearer?: { issuer: string; audience: string; secret: string }
}
const say = (what: string) => void process.stdout.write(`${what}\n`)

subscribe('express-tollgate:degraded', () => say('degraded'))
subscribe('express-tollgate:recovered', () => say('recovered'))
subscribe('express-tollgate:charged', (message) => {
  const { subject, chargedMs } = message as ChargedMessage
  say(`charged ${subject} ${chargedMs}`)
})

const byField = { subject: (req: express.Request) => req.get('x-user') ?? null }
const throttled = throttle({ ...options, store: redisStore(redis), ...(bearer ? {} : byField) })
const app = express()
app.get('/usage/:who', async (req, res) => void res.json(await throttled.usage(req.params.who)))
if (bearer) app.use(requireBearer(bearer))
app.use(throttled)
app.get('/throttled', throttleTest())
app.get('/work/:ms', async (req, res) => {
  const start = performance.now()
  await sleep(Number(req.params.ms))
  say(`worked ${req.get('x-user')} ${performance.now() - start}`)
  res.end()
})
const server = app.listen(0, '127.0.0.1', () => say(`port ${(server.address() as AddressInfo).port}`))
server.keepAliveTimeout = 0
process.on('SIGTERM', () => {
  server.close(() => void throttled.close().then(() => process.exit(0)))
  server.closeIdleConnections()
})

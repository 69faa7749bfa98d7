// A process that the documented lines for SIGTERM end: started and driven by shutdown.spec.ts. A handler runs until the
// process is told to end, or for ever.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { type Throttle, redisStore, throttle } from '../../../lib'
import { until } from '../../support/until'

const { redis, lines } = JSON.parse(process.argv[2] as string) as { redis: string; lines: string }
const say = (what: string) => void process.stdout.write(`${what}\n`)

const throttled = throttle({
  store: redisStore(redis),
  limitMs: 1_000,
  windowMs: 2_592_000_000,
  subject: (req) => req.get('x-user') ?? null,
})
const app = express()
app.use((_req, _res, next) => {
  say('came')
  next()
})
app.use(throttled)
app.get('/', (_req, res) => void res.send('ok'))
app.get('/until-told', async (_req, res) => {
  say('runs')
  await until(() => server.listening, false)
  res.send('ok')
})
app.get('/for-ever', (_req, res) => {
  res.write('first\n')
  say('runs')
})
const server = app.listen(0, '127.0.0.1', () => say(`port ${(server.address() as AddressInfo).port}`))
// eslint-disable-next-line @typescript-eslint/no-implied-eval -- lines of the documentation
const run = new Function('server', 'throttled', lines) as (server: Server, throttled: Throttle) => void
void throttled.ready().then(() => {
  run(server, throttled)
  process.once('SIGTERM', () => say('told'))
  say('ready')
})

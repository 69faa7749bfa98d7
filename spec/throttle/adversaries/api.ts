// One process of an API that attackers ask: started by redis.spec.ts, driven over HTTP.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { redisStore, throttle } from '../../../lib'
import { handleAttack } from './attacks'

const { redis, workMs, limitMs, windowMs } = JSON.parse(process.argv[2] as string) as Record<string, number | string>
const throttled = throttle({
  ...{ limitMs: Number(limitMs), windowMs: Number(windowMs), store: redisStore(String(redis)) },
  subject: (req) => req.get('x-user') ?? null,
})
/** How many handlers were begun for each user. */
const begun: Record<string, number> = {}
const app = express()
app.get('/usage/:who', async (req, res) => void res.json(await throttled.usage(req.params.who)))
app.get('/begun', (_req, res) => void res.json(begun))
app.use(throttled)
app.use(
  handleAttack((req, done) => {
    const user = String(req.get('x-user'))
    begun[user] = (begun[user] ?? 0) + 1
    setTimeout(done, Number(workMs))
  }),
)
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})

// A server and an API that are asked for a long time, in a process of their own, in memory or over Redis. GET /load answers
// with the heap after a collection and the number of what keeps the process alive.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express from 'express'
import { allowUnauthenticated, redisStore, requireBearer, throttle } from '../../../lib'
import {
  authorizationServer,
  clientDirectory,
  memoryOAuthStore,
  redisOAuthStore,
  userDirectory,
} from '../../../lib/oauth'
import { CLIENTS } from '../support'

const { redis, pem, users } = JSON.parse(process.argv[2] as string) as { redis?: string; pem: string; users: string[] }
setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const issuer = 'http://localhost/as'
const rows = users.map((username) => ({ id: username, username, password: 'analytical engine' }))
const server = authorizationServer({
  issuer,
  clients: clientDirectory(CLIENTS),
  users: userDirectory(rows, { cost: 10 }),
  signingKeys: [{ key: pem }],
  store: redis === undefined ? memoryOAuthStore({ maxBytes: 20_000_000 }) : redisOAuthStore(redis),
  registration: { accept: () => ({}), perAddress: 10_000, perHour: 1_000_000 },
  log: () => undefined,
})
const throttled = throttle({
  windowMs: 10_000,
  limitMs: 2_000,
  ...(redis !== undefined && { store: redisStore(redis) }),
})
const app = express().set('trust proxy', 1).set('tollgate dialect', 'standard')
app.use('/as', server)
app.get('/load', (_req, res) => {
  gc()
  const heapMb = Math.round(process.memoryUsage().heapUsed / 1e5) / 10
  res.json({ heapMb, handles: process.getActiveResourcesInfo().length })
})
app.use(allowUnauthenticated({ paths: ['/open'] }))
app.use('/open', throttled, (_req, res) => void res.end())
app.use(requireBearer({ issuer, audience: issuer, verify: server.verify, warnings: false }), throttled)
app.get('/mine', (_req, res) => void setTimeout(() => res.end(), 5))
const http = createServer({ keepAliveTimeout: 0 }, app) // or a client now and then asks over a connection that is just being closed
http.listen(0, '127.0.0.1', 4_096, () => console.log((http.address() as AddressInfo).port))

// One of the processes: it is told by its environment where the issuer's keys and Redis are.
import express from 'express'
import { budgetOf, redisStore, requireBearer, throttle } from 'express-tollgate'

const { ISSUER, AUDIENCE, JWKS_URI, REDIS_URL } = process.env
const throttled = throttle({ limitMs: 2_000, windowMs: 10_000, store: redisStore(REDIS_URL) })

const app = express()
app.set('trust proxy', 1) // the proxy in main.mjs
app.use(requireBearer({ issuer: ISSUER, audience: AUDIENCE, jwksUri: JWKS_URI }))
app.use(throttled)
app.get('/tree', (req, res) => {
  setTimeout(() => res.json({ process: process.pid, address: req.ip, leftMs: budgetOf(req).leftMs }), 400)
})

const server = app.listen(0, '127.0.0.1', () => process.send(server.address().port))
process.once('SIGTERM', () => {
  server.prependListener('request', (req, res) => res.setHeader('Connection', 'close'))
  server.close(() => void throttled.close().finally(() => process.exit()))
  setTimeout(() => server.closeAllConnections(), 6_000).unref()
})
process.once('disconnect', () => process.exit()) // main.mjs has gone

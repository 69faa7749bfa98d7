// TypeScript as ESM. PORT (default 3000).
import type { AddressInfo } from 'node:net'
import express, { type RequestHandler } from 'express'
import {
  budgetOf,
  requireBearer,
  requireScope,
  type Session,
  sessionOf,
  throttle,
  ThrottledError,
} from 'express-tollgate'
import { devIssuer } from 'express-tollgate/testing'

const dev = devIssuer() // in production: requireBearer({ issuer, audience })
const throttled = throttle({
  limitMs: (req) => (sessionOf(req).claims.plan === 'pro' ? 60_000 : 16_000),
  onDenied: (err, req, res) => {
    const waits = err instanceof ThrottledError ? err.headers['Retry-After'] : undefined
    res.status(err.status).set(err.headers).json({ error: err.code, waits })
  },
})

const app = express()
app.use(requireBearer(dev.options), throttled)
app.get('/me', (req, res) => {
  res.json({ who: nameOf(sessionOf(req)), leftMs: budgetOf(req).leftMs, endsInMs: budgetOf(req).endsInMs })
})
const remove: RequestHandler = (req, res) => void res.status(204).end()
app.delete('/tree', requireScope('write'), remove)

/** A `userId` is there where a user is signed in, and the compiler knows. */
function nameOf(session: Session): string {
  return session.kind === 'user' ? `user ${session.userId}` : `app ${session.clientId}`
}

const server = app.listen(Number(process.env.PORT ?? 3000), () => {
  const token = dev.token('ada', { scope: 'read', claims: { plan: 'pro' } })
  const { port } = server.address() as AddressInfo
  console.log(`curl -i localhost:${port}/me -H 'Authorization: Bearer ${token}'`)
})
process.once('SIGTERM', () => {
  server.prependListener('request', (req, res) => res.setHeader('Connection', 'close'))
  server.close(() => void throttled.close().finally(() => process.exit()))
  setTimeout(() => server.closeAllConnections(), 6_000).unref()
})

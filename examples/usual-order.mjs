// The middleware that most APIs have, in an order that works. PORT (default 3000).
import compression from 'compression'
import cors from 'cors'
import express from 'express'
import { requireBearer, serviceUnavailable, sessionOf, throttle } from 'express-tollgate'
import { devIssuer } from 'express-tollgate/testing'
import helmet from 'helmet'

const dev = devIssuer() // in production: requireBearer({ issuer, audience })
const throttled = throttle()
const readable = ['X-Processing-Time', 'X-Throttle-Window-Size', 'X-Throttle-Millis-Used', 'X-Throttle-Millis-Left']

const app = express()
app.set('trust proxy', 'loopback')
app.use(helmet()) // first, so that refusals have its fields too
app.use(cors({ exposedHeaders: [...readable, 'Retry-After', 'WWW-Authenticate'] })) // a preflight brings no token
app.use(requireBearer(dev.options)) // nobody's body is read before it is known who asks
app.use(throttled)
app.use(compression()) // below the throttle, which could not tell a slow reader from a slow handler otherwise
app.use(express.json({ limit: '100kb' })) // below the throttle too: reading the body is paid for
app.use(express.urlencoded({ extended: false, limit: '100kb' }))
app.get('/tree', (req, res) => void res.json(Array.from({ length: 500 }, (_, id) => ({ id, name: 'Ada' }))))
app.post('/tree', (req, res) => void res.status(201).json({ user: sessionOf(req).userId, received: req.body }))
app.use((req, res) => void res.status(404).json({ errors: [{ code: 404 }] }))
app.use(serviceUnavailable()) // last; a body that is too long or no JSON stays the client's error

const server = app.listen(process.env.PORT ?? 3000, () => {
  const { port } = server.address()
  console.log(`curl -i --compressed localhost:${port}/tree -H 'Authorization: Bearer ${dev.token('ada')}'`)
})
process.once('SIGTERM', () => {
  server.prependListener('request', (req, res) => res.setHeader('Connection', 'close'))
  server.close(() => void throttled.close().finally(() => process.exit()))
  setTimeout(() => server.closeAllConnections(), 6_000).unref()
})

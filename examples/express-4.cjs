// Express 4 in CommonJS. PORT (default 3000).
const express = require('express')
const { budgetOf, requireBearer, serviceUnavailable, sessionOf, throttle } = require('express-tollgate')
const { devIssuer } = require('express-tollgate/testing')

const dev = devIssuer() // in production: requireBearer({ issuer, audience })
const throttled = throttle({ limitMs: 1_000, windowMs: 10_000 })

const app = express()
app.use(requireBearer(dev.options))
app.use(throttled)
app.get('/tree', (req, res) => {
  setTimeout(() => res.json({ user: sessionOf(req).userId, leftMs: budgetOf(req).leftMs }), 400)
})
app.use(serviceUnavailable())

const server = app.listen(process.env.PORT ?? 3000, () => {
  const token = dev.token('ada')
  console.log(`curl -i localhost:${server.address().port}/tree -H 'Authorization: Bearer ${token}'`)
})
process.once('SIGTERM', () => {
  server.prependListener('request', (req, res) => res.setHeader('Connection', 'close'))
  server.close(() => void throttled.close().finally(() => process.exit()))
  setTimeout(() => server.closeAllConnections(), 6_000).unref()
})

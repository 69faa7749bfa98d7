// The throttle's metrics for Prometheus at /metrics. PORT (default 3000).
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import express from 'express'
import { budgetOf, requireBearer, throttle } from 'express-tollgate'
import { throttleMetrics } from 'express-tollgate/opentelemetry'
import { devIssuer } from 'express-tollgate/testing'

const exporter = new PrometheusExporter({ preventServerStart: true }) // the app below serves it
const provider = new MeterProvider({ readers: [exporter] })
throttleMetrics(provider.getMeter('express-tollgate'))

const dev = devIssuer() // in production: requireBearer({ issuer, audience })
const throttled = throttle({ limitMs: 1_000, windowMs: 10_000 })

const app = express()
app.get('/metrics', (req, res) => exporter.getMetricsRequestHandler(req, res)) // in production: on a port of its own
app.use(requireBearer(dev.options), throttled)
app.get('/tree', (req, res) => void setTimeout(() => res.json({ leftMs: budgetOf(req).leftMs }), 400))

const server = app.listen(process.env.PORT ?? 3000, () => {
  const { port } = server.address()
  console.log(`curl -i localhost:${port}/tree -H 'Authorization: Bearer ${dev.token('ada')}'`)
  console.log(`curl -s localhost:${port}/metrics`)
})
process.once('SIGTERM', () => {
  server.prependListener('request', (req, res) => res.setHeader('Connection', 'close'))
  server.close(() => void Promise.all([throttled.close(), provider.shutdown()]).finally(() => process.exit()))
  setTimeout(() => server.closeAllConnections(), 6_000).unref()
})

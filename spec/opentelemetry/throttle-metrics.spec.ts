// Metrics: what is counted, under which names, and that a broken meter harms nobody.
import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import express from 'express'
import { throttle, throttleTest } from '../../lib'
import { adviceMetrics, authorizationMetrics, throttleMetrics } from '../../lib/opentelemetry'
import { manualClock } from '../../lib/testing'
import { serve } from '../support/serve'
import { assertIs, atLeast } from '../support/until'

it('throttleMetrics() counts requests by outcome, time, holds and outages, and never says who paid', async (t) => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const stop = throttleMetrics(provider.getMeter('express-tollgate'))
  assert.equal(throttleMetrics(provider.getMeter('express-tollgate')), stop, 'a second call adds nothing')
  t.after(() => provider.shutdown())

  const clock = manualClock(Date.UTC(2026, 0, 1))
  const app = express()
  app.use(throttle({ limitMs: 1_000, windowMs: 86_400_000, subject: () => 'ada-secret', clock }))
  app.get('/throttled', throttleTest())
  app.get('/work', (_req, res) => {
    clock.advance(120)
    res.end()
  })
  const { get } = await serve(app)

  await get('/work')
  await get('/throttled?processingTime=1000')
  await get('/work')
  await get('/work')
  stop()
  await get('/work')

  await provider.forceFlush()
  const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  const points = (name: string) =>
    metrics
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })))
  const window = { 'tollgate.window': 'default' }
  assert.deepEqual(points('tollgate.requests'), [
    { attributes: { ...window, 'tollgate.outcome': 'admitted' }, value: 2 },
    { attributes: { ...window, 'tollgate.outcome': 'refused', 'tollgate.reason': 'spent' }, value: 2 },
  ])
  assert.deepEqual(points('tollgate.hold.duration'), [{ attributes: window, value: 0 }])
  const times = points('tollgate.processing.duration').map(({ attributes, value }) => {
    const { sum, count } = value as { sum: number; count: number }
    return [attributes, sum, count]
  })
  assert.deepEqual(times, [
    [{ ...window, 'tollgate.route': 'GET /work' }, 0.12, 1],
    [{ ...window, 'tollgate.route': 'GET /throttled' }, 1, 1],
  ])
  for (const { descriptor } of metrics) assert.match(descriptor.unit, /^(s|\{\w+\})$/, descriptor.name)
  assert.doesNotMatch(JSON.stringify(metrics), /ada/)
})

it('tells 200 routes apart', (t) => {
  const seen = new Set<unknown>()
  const record = (_value: number, of: Record<string, unknown> = {}) => void seen.add(of['tollgate.route'])
  const make = () => ({ add: () => {}, record })
  const stop = throttleMetrics({ createCounter: make, createHistogram: make, createUpDownCounter: make, createGauge: make } as never) // prettier-ignore
  t.after(stop)
  const charged = (route: unknown) =>
    channel('express-tollgate:charged').publish({ window: 'default', chargedMs: 1, holdMs: 1, req: { method: 'GET', baseUrl: '', route } }) // prettier-ignore
  for (let i = 0; i < 1_000; i++) charged({ path: `/${i}`, methods: {} })
  charged(undefined)
  charged({ path: '/7', methods: {} })
  assert.deepEqual(
    [seen.size, seen.has('GET /7'), seen.has('GET /200'), seen.has('other routes')],
    [201, true, false, true],
  )
})

it('a meter that throws does not end the process: a warning says so', async (t) => {
  const broken = { add: () => assert.fail('no exporter'), record: () => assert.fail('no exporter') }
  const make = () => broken
  const meter = { createCounter: make, createHistogram: make, createUpDownCounter: make, createGauge: make } as never
  const stops = [throttleMetrics(meter), authorizationMetrics(meter)]
  t.after(() => stops.forEach((stop) => stop()))
  const app = express()
    .use(throttle())
    .get('/', (_req, res) => void res.end())
  const { get } = await serve(app)
  const warned = once(process, 'warning')
  assert.equal((await get('/')).status, 200)
  const [warning] = (await warned) as [Error & { code: string }]
  assert.equal(warning.code, 'TOLLGATE_LISTENER')
  assert.match(warning.message, /^throttleMetrics\(\) failed .*no exporter/)
})

it('examples/grafana and docs/monitoring.md name metrics and labels that a Prometheus exporter shows', async (t) => {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const meter = new MeterProvider({ readers: [exporter] }).getMeter('express-tollgate')
  const throttled = throttle({ limitMs: 1, windowMs: 86_400_000 })
  const stops = [throttleMetrics(meter), adviceMetrics(meter, throttled)]
  t.after(() => stops.forEach((stop) => stop()))
  const app = express()
  app.get('/metrics', (req, res) => exporter.getMetricsRequestHandler(req, res))
  app.use(throttled).get('/', (_req, res) => void setTimeout(() => res.end(), 5))
  const { get } = await serve(app)
  for (let i = 0; i < 2; i++) await get('/')
  channel('express-tollgate:degraded').publish({})
  channel('express-tollgate:synced').publish({ window: 'default', latencyMs: 1 })
  channel('express-tollgate:overload').publish({ share: 0.4, delayMs: 180, refusedRequests: 2 })
  const { body } = await get('/metrics')
  assert.match(body, /^tollgate_overload_share(\{.*\})? 0\.4$/m)
  assert.match(body, /^tollgate_overload_delay_seconds(\{.*\})? 0\.18$|^tollgate_overload_delay(\{.*\})? 0\.18$/m)
  assert.match(body, /^tollgate_usage\{.*tollgate_quantile="0.99".*\} 0\.\d+$/m)
  for (const file of ['examples/grafana/dashboard.json', 'examples/grafana/alerts.yml', 'docs/monitoring.md']) {
    const text = readFileSync(file, 'utf8')
    const words = new Set(text.match(/\btollgate_\w+/g))
    assertIs(words.size, atLeast(4), [...words].join())
    for (const word of words) {
      const ofCollector = /^(\w+?)(?:_seconds|_ratio)(_bucket)?$/.exec(word) // it adds units
      const shown = ofCollector && file.startsWith('docs/') ? `${ofCollector[1]}${ofCollector[2] ?? ''}` : word
      assert.match(body, new RegExp(`\\b${shown}\\b`), `${file}: ${word}`)
    }
  }
  const guide = readFileSync('docs/monitoring.md', 'utf8')
  const unitsOfCollector: Record<string, string> = { s: '_seconds', '1': '_ratio' } // "{…}" is dropped
  const types = [...body.matchAll(/^# UNIT (tollgate_\w+) (\S+)\n# TYPE \S+ (\w+)$/gm)]
  assertIs(types.length, atLeast(9))
  for (const [, shown = '', unit = '', type] of types) {
    const suffix = type === 'counter' ? '_total' : ''
    const base = shown.slice(0, shown.length - suffix.length)
    const ofCollector = `${base}${unitsOfCollector[unit] ?? ''}${suffix}`
    for (const name of [shown, ofCollector]) {
      const inGuide = `\`${name}${type === 'histogram' ? '_bucket' : ''}\``
      assert.ok(guide.includes(inGuide), `docs/monitoring.md: ${inGuide}`)
    }
  }
  const instruments = readFileSync('docs/monitoring.md', 'utf8').match(/`tollgate\.[\w.]+`/g) ?? []
  assertIs(instruments.length, atLeast(10))
  for (const instrument of instruments) {
    const shown = instrument.replaceAll('`', '').replaceAll('.', '_')
    assert.match(body, new RegExp(`\\b${shown}(_total|_count)?\\b`), instrument)
  }
})

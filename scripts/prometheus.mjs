// npm run check:prometheus: tries examples/grafana/ against a real Prometheus (`apt-get install prometheus`, or
// PROMETHEUS=/path/to/it with promtool beside it). An app with a store in a real Redis admits and refuses requests, then
// its Redis stops: every expression of the dashboard must have a value, and every rule must be evaluated; the rule about
// the store must find that it does not answer.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { needRedis } from './services.mjs'

const root = join(import.meta.dirname, '..')
const RULES = join(root, 'examples/grafana/alerts.yml')
const dashboard = JSON.parse(readFileSync(join(root, 'examples/grafana/dashboard.json'), 'utf8'))
const prometheus = process.env.PROMETHEUS ?? 'prometheus'
const promtool = join(dirname(prometheus), basename(prometheus).replace('prometheus', 'promtool'))

const build = spawnSync(process.execPath, ['scripts/build.mjs', '--stale'], { cwd: root, stdio: 'inherit' })
if (build.status !== 0) process.exit(1)
const checked = spawnSync(promtool, ['check', 'rules', RULES], { encoding: 'utf8' })
if (checked.status !== 0) fail(checked.error?.message ?? checked.stdout + checked.stderr)

const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-prometheus-'))
const children = []
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

const { server, env } = needRedis()
const [redisPort, prometheusPort] = [await freePort(), await freePort()]
const redis = start(server, ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--dir', folder], env)
const app = await startApp(`redis://127.0.0.1:${redisPort}`)
const config = `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [${JSON.stringify(RULES)}]
scrape_configs: [{ job_name: api, static_configs: [{ targets: ['127.0.0.1:${app.port}'] }] }]
`
writeFileSync(join(folder, 'prometheus.yml'), config)
const place = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`]
start(prometheus, [...place, `--web.listen-address=127.0.0.1:${prometheusPort}`])

const traffic = setInterval(() => void app.ask(), 100)
const expressions = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, filledIn(expr)]))
for (const [title, expr] of expressions) {
  await until(`a value of "${title}": ${expr}`, async () => (await query(expr)).some(({ value }) => value[1] !== 'NaN'))
}
redis.kill('SIGKILL')
await until(
  'the rule TollgateStoreDown to be pending',
  async () => (await rules()).get('TollgateStoreDown') === 'pending',
)
clearInterval(traffic)
console.log(
  `check:prometheus: ${expressions.length} expressions have values, ${(await rules()).size} rules are evaluated`,
)
process.exit()

/** An app with two windows; the metrics at /metrics. */
async function startApp(redisUrl) {
  const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus')
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics')
  const { default: express } = await import('express')
  const { redisStore, throttle } = await import('express-tollgate')
  const { adviceMetrics, throttleMetrics } = await import('express-tollgate/opentelemetry')
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const meter = new MeterProvider({ readers: [exporter] }).getMeter('express-tollgate')
  throttleMetrics(meter)
  const app = express()
  app.get('/metrics', (req, res) => exporter.getMetricsRequestHandler(req, res))
  const routes = { '/b': { limitMs: 300 } }
  const throttled = throttle({ limitMs: 300, windowMs: 2_000, store: redisStore(redisUrl), routes })
  adviceMetrics(meter, throttled)
  app.use(throttled)
  app.use((_req, res) => void setTimeout(() => res.end(), 50))
  const listening = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => listening.once('listening', resolve))
  const { port } = listening.address()
  const ask = () => Promise.all(['/a', '/b'].map((path) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => {})))
  return { port, ask }
}

/** As Grafana fills in its variables. */
function filledIn(expr) {
  return expr.replaceAll(/\$(job|window)\b/g, '.*').replaceAll('$__rate_interval', '15s')
}

async function query(expr) {
  const { status, data, error } = await api(`query?${new URLSearchParams({ query: expr })}`)
  if (status === 'error') fail(`${expr}: ${error}`)
  return data?.result ?? []
}

/** The state of each rule; one that cannot be evaluated ends the check. */
async function rules() {
  const found = ((await api('rules')).data?.groups ?? []).flatMap((group) => group.rules)
  for (const { name, health, lastError } of found) if (health === 'err') fail(`${name}: ${lastError}`)
  return new Map(found.map(({ name, state }) => [name, state]))
}

async function api(path) {
  try {
    return await (await fetch(`http://127.0.0.1:${prometheusPort}/api/v1/${path}`)).json()
  } catch {
    return {} // not up yet
  }
}

async function until(what, condition) {
  for (const end = Date.now() + 90_000; !(await condition()); await sleep(250)) {
    if (Date.now() > end) fail(`not within 90 s: ${what}`)
  }
}

function start(command, args, more = {}) {
  const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, ...more } })
  child.once('error', (err) => fail(err.message))
  children.push(child)
  return child
}

function freePort() {
  return new Promise((resolve) => {
    const free = createServer().listen(0, '127.0.0.1', () => {
      const { port } = free.address()
      free.close(() => resolve(port))
    })
  })
}

function fail(why) {
  console.error(`check:prometheus: ${why}`)
  process.exit(1)
}

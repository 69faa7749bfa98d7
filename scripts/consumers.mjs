// Packs the package as it would be published, installs it into folders outside the project and uses it from there:
// named exports from CommonJS and from ESM at run time, one copy of the state, types under every kind of resolution.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const {
  name,
  version,
  exports: subpaths,
  devDependencies,
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const home = mkdtempSync(join(tmpdir(), 'express-tollgate-consumer-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))

/** Runs a command, or ends with what it printed. */
function run(what, command, args, cwd = home) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) {
    console.error(`consumers: ${what} failed\n${stdout}${stderr}${error ?? ''}`)
    process.exit(1)
  }
  return stdout
}

const write = (file, text) => {
  mkdirSync(join(home, file, '..'), { recursive: true })
  writeFileSync(join(home, file), text)
}

run('npm pack', 'npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', home], root)
write('package.json', '{ "private": true }')
const beside = ['express', '@types/express', '@types/node', '@opentelemetry/api'].map(
  (dep) => `${dep}@${devDependencies[dep]}`,
)
const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
run('npm install', 'npm', ['install', ...quiet, join(home, `${name}-${version}.tgz`), ...beside])

const entries = Object.keys(subpaths)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => name + subpath.slice(1))

write(
  'run.mjs',
  `import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { requireBearer, throttle, allowUnauthenticated, requireScope, throttleTest, redisStore } from '${name}'
import { processingTime, serviceUnavailable, ThrottledError, UnauthorizedError } from '${name}'
import { devIssuer, manualClock } from '${name}/testing'
import { authorizationServer } from '${name}/oauth'
import { pacedFetch } from '${name}/client'
import { throttleDashboard } from '${name}/dashboard'

const named = { requireBearer, throttle, allowUnauthenticated, requireScope, throttleTest, redisStore, processingTime,
  serviceUnavailable, ThrottledError, UnauthorizedError, devIssuer, manualClock, authorizationServer,
  pacedFetch, throttleDashboard }
for (const [name, value] of Object.entries(named)) assert.equal(typeof value, 'function', name)

const require = createRequire(import.meta.url)
for (const entry of ${JSON.stringify(entries)}) {
  const esm = await import(entry)
  const cjs = require(entry)
  const names = Object.keys(cjs)
  assert.ok(names.length > 0, entry)
  for (const name of names) assert.equal(esm[name], cjs[name], entry + ' ' + name + ': ESM and CommonJS have one copy')
}

// One copy of the state: a window opened by require() and one by import are the same, and differing terms are noticed.
const store = redisStore('redis://127.0.0.1:1')
const first = require('${name}').throttle({ store, limitMs: 1_000 })
assert.throws(() => throttle({ store, limitMs: 2_000 }), /two throttles/)
await first.close()
`,
)
run('use from ESM and CommonJS', process.execPath, ['run.mjs'])

const app = `import express from 'express'
import { budgetOf, requireBearer, sessionOf, throttle, throttleTest, serviceUnavailable, redisStore, type ThrottleOptions } from '${name}'
import { devIssuer, manualClock } from '${name}/testing'
import { authorizationServer } from '${name}/oauth'
import { throttleDashboard } from '${name}/dashboard'

const options: ThrottleOptions = { limitMs: 1_000, clock: manualClock(), store: redisStore('redis://localhost') }
const app = express()
app.use(requireBearer(devIssuer().options), throttle(options))
app.get('/', (req, res) => {
  const left: number = budgetOf(req).leftMs
  const session = sessionOf(req)
  const who: string = session.kind === 'user' ? session.userId : session.clientId
  // @ts-expect-error not every request is throttled
  void req.throttle.leftMs
  // @ts-expect-error not every request has a session
  void req.auth.kind
  budgetOf(req).charge(1)
  // @ts-expect-error a number is wanted
  budgetOf(req).charge('1')
  // @ts-expect-error only a user's session has a userId
  void session.userId
  res.json({ left, who, signal: budgetOf(req).signal.aborted })
})
// @ts-expect-error no such option
throttle({ limit: 1 })
// @ts-expect-error a guard is wanted
export const unguarded = () => throttleDashboard(throttle(), {})
app.use('/admin', throttleDashboard(throttle(), { guard: (_req, _res, next) => next() }))
app.get('/throttled', throttleTest())
app.use(serviceUnavailable())
export const server: typeof authorizationServer = authorizationServer
`
const common = {
  strict: true,
  noEmit: true,
  skipLibCheck: false,
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  esModuleInterop: true,
}
const resolutions = {
  'node16 in CommonJS': ['commonjs', { module: 'node16' }],
  'node16 in ESM': ['module', { module: 'node16' }],
  'nodenext in CommonJS': ['commonjs', { module: 'nodenext' }],
  'nodenext in ESM': ['module', { module: 'nodenext' }],
  bundler: ['module', { module: 'esnext', moduleResolution: 'bundler' }],
  node10: ['commonjs', { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' }],
}
for (const [resolution, [type, options]] of Object.entries(resolutions)) {
  const folder = resolution.replaceAll(' ', '-')
  write(`${folder}/package.json`, JSON.stringify({ type }))
  write(`${folder}/app.ts`, app)
  write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions: { ...common, ...options }, files: ['app.ts'] }))
  run(`types under ${resolution}`, process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder])
}
console.log(
  `consumers: ${entries.join(', ')} from CommonJS and ESM; types under ${Object.keys(resolutions).join(', ')}`,
)

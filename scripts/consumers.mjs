// npm run check:consumers: the package as it would be published, in the set-ups of its users, since attw and publint run
// nothing. Each is a folder with what it installs; one Redis for all, that of REDIS_URL or one of its own. It needs a
// registry, and takes some minutes.
//   Express 4 and 5, ioredis 5 and 6 and iovalkey, CommonJS and ESM; ts-jest, vitest, one file bundled by esbuild; and
//   types beside what other packages declare of `req.auth`, by TypeScript 5.4, 6.0 and 7.0.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needRedis, startRedis } from './services.mjs'

const root = join(import.meta.dirname, '..')
const manifest = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
const { name, version, devDependencies } = manifest('.')
const pinned = { ...manifest('spec/clients').dependencies, ...devDependencies }
const home = mkdtempSync(join(tmpdir(), 'express-tollgate-consumers-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
const tarball = join(home, `${name}-${version}.tgz`)
const failed = []
let runs = 0 // each has windows of its own

run(root, 'npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', home])
const redisUrl = process.env.REDIS_URL ?? `redis://127.0.0.1:${(await startRedis(needRedis())).port}`

// An app that meets all: a token, a window in Redis through the client given, a refusal, and an end.
const APP = (client) => `
const dev = devIssuer()
const redis = ${client}
redis.on('error', () => undefined)
const throttled = throttle({ limitMs: 1_000, windowMs: 86_400_000, store: redisStore(redis, { prefix: process.argv[2] }) })
const app = express()
app.use(requireBearer(dev.options), throttled)
app.get('/', (req, res) => {
  budgetOf(req).charge(1_001)
  res.json({ user: sessionOf(req).userId })
})
const server = app.listen(0, async () => {
  while ((await throttled.usage('nobody'))[0].degraded) await new Promise((resolve) => setTimeout(resolve, 20))
  const ask = async (headers) => (await fetch('http://localhost:' + server.address().port, { headers })).status
  const headers = { authorization: 'Bearer ' + dev.token('ada') }
  console.log(await ask({}), await ask(headers), await ask(headers))
  server.close(() => throttled.close().then(() => redis.disconnect()))
  server.closeAllConnections()
})
`
const NAMES = {
  'express-tollgate': '{ budgetOf, redisStore, requireBearer, sessionOf, throttle }',
  'express-tollgate/testing': '{ devIssuer }',
}
const requires = Object.entries(NAMES)
  .map(([from, names]) => `const ${names} = require('${from}')\n`)
  .join('')
const imports = Object.entries(NAMES)
  .map(([from, names]) => `import ${names} from '${from}'\n`)
  .join('')
for (const express of ['express@4', 'express@5']) {
  for (const client of ['ioredis@5', 'ioredis@6', 'iovalkey']) {
    const from = client.split('@')[0]
    const folder = install(`${express} ${client}`, [express, client])
    const made = APP(`new Redis('${redisUrl}')`)
    write(
      folder,
      'app.cjs',
      `const express = require('express')\nconst { Redis } = require('${from}')\n${requires}${made}`,
    )
    write(folder, 'app.mjs', `import express from 'express'\nimport { Redis } from '${from}'\n${imports}${made}`)
    for (const file of ['app.cjs', 'app.mjs']) {
      check(`${express}, ${client}, ${file}`, folder, process.execPath, [file, `${++runs}:`], '401 200 429\n')
    }
  }
}

const TEST = `
const dev = devIssuer()
test('a user is let in, and nobody else', async () => {
  const app = express()
  app.use(requireBearer(dev.options), throttle({ limitMs: 1_000 }))
  app.get('/', (req, res) => void res.json({ kind: sessionOf(req).kind, leftMs: budgetOf(req).leftMs }))
  const server = app.listen(0)
  const url = 'http://localhost:' + (server.address() as { port: number }).port
  expect((await fetch(url)).status).toBe(401)
  const res = await fetch(url, { headers: { authorization: 'Bearer ' + dev.token('ada') } })
  expect(await res.json()).toMatchObject({ kind: 'user' })
  server.close()
  server.closeAllConnections()
})
`
const testImports = `import express from 'express'\nimport { budgetOf, requireBearer, sessionOf, throttle } from '${name}'\nimport { devIssuer } from '${name}/testing'\n`
const ours = "import { budgetOf, requireBearer, sessionOf, throttle, type Session } from 'express-tollgate'"
const routes = (old) => `
const app = express()
${old}
app.get('/new/:id', requireBearer(), throttle(), (req, res) => {
  const session: Session = sessionOf(req)
  res.json({ id: req.params.id, kind: session.kind, leftMs: budgetOf(req).leftMs })
})`

/** Apps by name; each has routes of its old package, where there is one, beside one of ours. */
const APPS = {
  alone: `${ours}
import { allowUnauthenticated, protectedResource } from '${name}'
import '${name}/oauth'${routes(`
const resource = 'https://api.example'
app.use(protectedResource({ resource, authorizationServers: ['https://as.example'], scopes: ['read'] }))
app.use(allowUnauthenticated({ paths: ['/public'] }))
app.get('/', requireBearer({ optional: true }), throttle(), (req, res) => {
  const session: Session | undefined = req.auth
  // @ts-expect-error there may be no session
  void req.auth.kind
  // @ts-expect-error there may be no budget
  void req.throttle.leftMs
  const known = sessionOf(req)
  // @ts-expect-error only a user has a userId
  void known.userId
  if (known.kind === 'user') res.send(known.userId.length + known.sub.length)
  else res.send(known.clientId.length)
  res.json({ kind: session?.kind, leftMs: req.throttle?.leftMs })
})`)}`,
  'express-oauth2-jwt-bearer': `import { auth } from 'express-oauth2-jwt-bearer'
${ours}${routes("app.get('/old', auth(), throttle(), (req, res) => void res.json({ sub: req.auth?.payload.sub }))")}`,
  'express-jwt': `import { expressjwt, type Request as JwtRequest } from 'express-jwt'
${ours}${routes(`app.get('/old', expressjwt({ secret: 's', algorithms: ['HS256'] }), throttle(), (req: JwtRequest, res: express.Response) => {
  res.json({ sub: req.auth?.sub })
})`)}`,
  passport: `import passport from 'passport'
${ours}${routes("app.get('/old', passport.authenticate('session'), throttle(), (req, res) => void res.json({ user: req.user }))")}`,
  'auth of its own': `declare global { namespace Express { interface Request { auth?: { userId: number } } } }
${ours}${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth?.userId.toFixed() }))")}`,
  'auth of its own, always there': `declare global { namespace Express { interface Request { auth: { userId: number } } } }
${ours}${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth.userId.toFixed() }))")}`,
  'auth of its own, a function': `declare global { namespace Express { interface Request { auth: { userId: string } & (() => { userId: string }) } } }
${ours}${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth().userId, same: req.auth.userId }))")}`,
  'auth of its own, in an interface of its own': `interface OwnRequest extends Omit<express.Request, 'auth'> { auth: { userId: number } }
${ours}${routes("app.get('/old', (req, res) => void res.json({ user: (req as OwnRequest).auth.userId.toFixed() }))")}`,
}

/** Apps beside MCP's SDK: with its own type of `req.auth`, and with no part of it that declares one. */
const TRANSPORT = '@modelcontextprotocol/sdk/server/streamableHttp.js'
const APPS_OF_MCP = {
  'auth of MCP': `import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { StreamableHTTPServerTransport } from '${TRANSPORT}'
${ours}${routes(`app.post('/old', requireBearerAuth({ verifier: { verifyAccessToken: () => Promise.reject(new Error('none')) } }), (req, res) => {
  const transport = new StreamableHTTPServerTransport()
  void transport.handleRequest(req, res, req.body).then(() => req.auth?.clientId.length)
})`)}`,
  'transport of MCP': `import { StreamableHTTPServerTransport } from '${TRANSPORT}'
${ours}${routes(`app.post('/mcp', requireBearer(), (req, res) => {
  const transport = new StreamableHTTPServerTransport()
  void transport.handleRequest(req, res, req.body).then(() => req.auth?.scope.length)
})`)}`,
}

/** Beside version 2 of the SDK. */
const TRANSPORT_2 = 'import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node"'
const APPS_OF_MCP_2 = Object.fromEntries(
  Object.entries(APPS_OF_MCP).map(([name, code]) => [
    `${name} 2`,
    code
      .replace(/^import .*bearerAuth\.js'/, "import { requireBearerAuth } from '@modelcontextprotocol/express'")
      .replace(/^import .*streamableHttp\.js'/m, TRANSPORT_2)
      .replace('new Streamable', 'new NodeStreamable'),
  ]),
)

const types = [`@types/express@${pinned['@types/express']}`, `@types/node@${pinned['@types/node']}`]
const typescript = `typescript@${pinned.typescript}`

const jest = install('ts-jest', ['express@5', 'jest@30', 'ts-jest@29', '@types/jest@30', typescript, ...types])
const jestOptions = {
  strict: true,
  esModuleInterop: true,
  isolatedModules: true,
  target: 'es2022',
  module: 'node20',
}
write(jest, 'tsconfig.json', JSON.stringify({ compilerOptions: { ...jestOptions, types: ['node', 'jest'] } }))
write(jest, 'jest.config.cjs', `module.exports = { transform: { '\\\\.ts$': 'ts-jest' }, testEnvironment: 'node' }`)
write(jest, 'api.test.ts', testImports + TEST)
check('ts-jest', jest, process.execPath, ['node_modules/jest/bin/jest.js'], /Tests: +1 passed/)

const vitest = install('vitest', ['express@5', 'vitest', 'vite', typescript, ...types])
write(vitest, 'api.test.ts', `import { expect, test } from 'vitest'\n${testImports}${TEST}`)
const args = ['-y', '-p', 'node@24', '--', 'node', 'node_modules/vitest/vitest.mjs', 'run', '--no-color']
check('vitest', vitest, 'npx', args, /Tests +1 passed/)

const bundled = install('esbuild', ['express@5', 'ioredis@6', `esbuild@${pinned.esbuild}`])
const bundle = APP(`new Redis('${redisUrl}')`)
write(bundled, 'app.mjs', `import express from 'express'\nimport { Redis } from 'ioredis'\n${imports}${bundle}`)
const esbuild = ['app.mjs', '--bundle', '--platform=node', '--outfile=alone/app.cjs', '--log-level=warning']
run(bundled, 'node_modules/.bin/esbuild', esbuild)
rmSync(join(bundled, 'node_modules'), { recursive: true })
check('one file bundled by esbuild', bundled, process.execPath, ['alone/app.cjs', 'bundled:'], '401 200 429\n')

const mcp = `@modelcontextprotocol/sdk@${pinned['@modelcontextprotocol/sdk']}`
const others = ['express-jwt', 'express-oauth2-jwt-bearer', 'passport'].map((each) => `${each}@${pinned[each]}`)
for (const [express, compiler, node, apps, beside] of [
  ['4', '5.4', '20', ['alone', 'express-jwt', 'passport'], others],
  ['5', '6.0', '20', Object.keys(APPS), others],
  ['5', '6.0', '20', Object.keys(APPS_OF_MCP), [mcp]],
  [
    '5',
    '6.0',
    '20',
    Object.keys(APPS_OF_MCP_2),
    ['express', 'node', 'server'].map((each) => `@modelcontextprotocol/${each}@2`),
  ],
  ['5', '7.0', '26', ['alone'], []],
]) {
  const needed = [`express@${express}`, `@types/express@${express}`, '@types/passport', `@types/node@${node}`]
  const folder = install(`types of Express ${express} and Node ${node}, ${apps.length}`, [
    ...needed,
    ...beside,
    `typescript@~${compiler}.0`,
  ])
  for (const app of apps) {
    const file = `${app.replace(/\W+/g, '-')}.ts`
    write(folder, file, `import express from 'express'\n${{ ...APPS, ...APPS_OF_MCP, ...APPS_OF_MCP_2 }[app]}\n`)
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--esModuleInterop', '--types', 'node']
    // What packages declare is checked once: most of the time is that of TypeScript's and Node's own.
    const skip = ['--skipLibCheck', String(app !== 'alone' && !app.startsWith('auth of MCP'))]
    const tsc = [
      'node_modules/typescript/bin/tsc',
      ...options,
      ...skip,
      '--target',
      'es2022',
      '--module',
      'node16',
      file,
    ]
    check(
      `TypeScript ${compiler}, types of Express ${express} and Node ${node}, ${app}`,
      folder,
      process.execPath,
      tsc,
      '',
    )
  }
}

if (failed.length > 0) {
  console.error(`check:consumers: ${failed.length} failed: ${failed.join('; ')}`)
  process.exit(1)
}
console.log('check:consumers: all passed')
process.exit()

function install(what, packages) {
  const folder = join(home, what.replace(/\W+/g, '-'))
  mkdirSync(folder)
  write(folder, 'package.json', '{ "private": true }')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--silent']
  run(folder, 'npm', ['install', ...quiet, tarball, ...packages])
  return folder
}

function write(folder, file, text) {
  writeFileSync(join(folder, file), text)
}

function run(cwd, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status === 0) return
  console.error(`check:consumers: ${command} ${args.join(' ')} failed\n${stdout}${stderr}${error ?? ''}`)
  process.exit(1)
}

function check(what, cwd, command, args, expected) {
  const env = { ...process.env, NODE_ENV: 'test', CI: '1' }
  const { stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 120_000, env })
  const passed = typeof expected === 'string' ? stdout === expected && stderr === '' : expected.test(stdout + stderr)
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${what}`)
  if (passed) return
  failed.push(what)
  console.error(stdout + stderr)
}

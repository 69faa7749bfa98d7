// npm run check:consumers: the package as it would be published, in the set-ups that its users have. Each is a folder of
// its own with what it installs from the registry, and one real Redis for all:
//   Node 20, 22 and 24 (those that the registry has for this machine), Express 4 and 5, ioredis 5 and 6, iovalkey,
//   CommonJS and ESM; ts-jest, vitest, and one file bundled by esbuild.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'

const root = join(import.meta.dirname, '..')
const { name, version, devDependencies: pinned } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const home = mkdtempSync(join(tmpdir(), 'express-tollgate-consumers-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
const tarball = join(home, `${name}-${version}.tgz`)
const failed = []
let runs = 0 // each has windows of its own

run(root, 'npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', home])
const redisUrl = await startRedis()
const nodes = [process.execPath, ...['20', '22', '24'].filter((v) => !process.version.startsWith(`v${v}.`)).map(nodeOf)]

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
const requires = Object.entries(NAMES).map(([from, names]) => `const ${names} = require('${from}')\n`)
const imports = Object.entries(NAMES).map(([from, names]) => `import ${names} from '${from}'\n`)
const clients = {
  'ioredis@5': ['ioredis', 'Redis'],
  'ioredis@6': ['ioredis', 'Redis'],
  iovalkey: ['iovalkey', 'Redis'],
}

for (const express of ['express@4', 'express@5']) {
  for (const [client, [from, Client]] of Object.entries(clients)) {
    const folder = install(`${express} ${client}`, [express, client])
    const made = `new ${Client}('${redisUrl}')`
    write(
      folder,
      'app.cjs',
      `const express = require('express')\nconst { ${Client} } = require('${from}')\n${requires.join('')}${APP(made)}`,
    )
    write(
      folder,
      'app.mjs',
      `import express from 'express'\nimport { ${Client} } from '${from}'\n${imports.join('')}${APP(made)}`,
    )
    for (const node of nodes) {
      const is = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
      for (const file of ['app.cjs', 'app.mjs']) {
        check(`${is}, ${express}, ${client}, ${file}`, folder, node, [file, `${++runs}:`], '401 200 429\n')
      }
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
const types = [`@types/express@${pinned['@types/express']}`, `@types/node@${pinned['@types/node']}`]
const typescript = `typescript@${pinned.typescript}`
const compilerOptions = {
  strict: true,
  esModuleInterop: true,
  target: 'es2022',
  module: 'node20',
  types: ['node', 'jest'],
}

const jest = install('ts-jest', ['express@5', 'jest@30', 'ts-jest@29', '@types/jest@30', typescript, ...types])
write(jest, 'tsconfig.json', JSON.stringify({ compilerOptions: { ...compilerOptions, isolatedModules: true } }))
write(jest, 'jest.config.cjs', `module.exports = { transform: { '\\\\.ts$': 'ts-jest' }, testEnvironment: 'node' }`)
write(jest, 'api.test.ts', testImports + TEST)
check('ts-jest', jest, process.execPath, ['node_modules/jest/bin/jest.js'], /Tests: +1 passed/)

const newest = nodes.at(-1)
const vitest = install('vitest', ['express@5', 'vitest', 'vite', typescript, ...types])
write(vitest, 'api.test.ts', `import { expect, test } from 'vitest'\n${testImports}${TEST}`)
check('vitest', vitest, newest, ['node_modules/vitest/vitest.mjs', 'run', '--no-color'], /Tests +1 passed/)

const bundled = install('esbuild', ['express@5', 'ioredis@6', `esbuild@${pinned.esbuild}`])
write(
  bundled,
  'app.mjs',
  `import express from 'express'\nimport { Redis } from 'ioredis'\n${imports.join('')}${APP(`new Redis('${redisUrl}')`)}`,
)
run(bundled, 'node_modules/.bin/esbuild', [
  'app.mjs',
  '--bundle',
  '--platform=node',
  '--outfile=alone/app.cjs',
  '--log-level=warning',
])
rmSync(join(bundled, 'node_modules'), { recursive: true })
check('one file bundled by esbuild', bundled, process.execPath, ['alone/app.cjs', 'bundled:'], '401 200 429\n')

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

/** A node of that major version, from the registry; undefined and said where it has none for this machine. */
function nodeOf(major) {
  const folder = join(home, `node-${major}`)
  mkdirSync(folder)
  write(folder, 'package.json', '{ "private": true }')
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const args = [
    'install',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--silent',
    `node-${platform}@${major}`,
  ]
  run(folder, 'npm', args)
  return join(folder, `node_modules/node-${platform}/bin/node`)
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
  const { stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 60_000, env })
  const passed = typeof expected === 'string' ? stdout === expected && stderr === '' : expected.test(stdout + stderr)
  console.log(`${passed ? 'ok  ' : 'FAIL'} ${what}`)
  if (passed) return
  failed.push(what)
  console.error(stdout + stderr)
}

async function startRedis() {
  const { server, env } = needRedis()
  const port = await new Promise((resolve) => {
    const free = createServer().listen(0, '127.0.0.1', () => {
      const { port } = free.address()
      free.close(() => resolve(port))
    })
  })
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', home]
  const redis = spawn(server, args, { stdio: 'ignore', env: { ...process.env, ...env } })
  process.on('exit', () => redis.kill())
  return `redis://127.0.0.1:${port}`
}

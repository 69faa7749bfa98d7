// npm run example NAME: runs one of examples/, with the package built where that is out of date.
//   --build instead of a name only does that. two-processes gets a redis-server of its own unless REDIS_URL names one.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'

const root = join(import.meta.dirname, '..')
const EXAMPLES = {
  'two-processes': ['examples/two-processes/main.mjs'],
  'express-4': ['--require', './spec/support/express4.cjs', 'examples/express-4.cjs'],
  'typescript-esm': ['--import', 'tsx', 'examples/typescript-esm.mts'],
  'usual-order': ['examples/usual-order.mjs'],
  opentelemetry: ['examples/opentelemetry.mjs'],
}
const [name] = process.argv.slice(2)
const args = EXAMPLES[name]
if (!args && name !== '--build') {
  console.error(`npm run example NAME, where NAME is one of: ${Object.keys(EXAMPLES).join(', ')}`)
  process.exit(1)
}

const newest = (folder) => {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter((f) => f.isFile())
  return Math.max(...files.map((f) => statSync(join(f.parentPath ?? f.path, f.name)).mtimeMs))
}
const built = statSync(join(root, 'dist/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
if (built < newest('lib')) {
  const { status } = spawnSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

if (!args) process.exit()

const env = { ...process.env }
let stopRedis = () => {}
if (name === 'two-processes' && !env.REDIS_URL) {
  const { server, env: redisEnv } = needRedis()
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'express-tollgate-example-'))
  const redisArgs = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', dir]
  const redis = spawn(server, redisArgs, { stdio: 'ignore', env: { ...process.env, ...redisEnv } })
  stopRedis = () => {
    redis.kill()
    rmSync(dir, { recursive: true, force: true })
  }
  env.REDIS_URL = `redis://127.0.0.1:${port}`
}

const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill('SIGTERM'))
child.on('exit', (code) => {
  stopRedis()
  process.exit(code ?? 1)
})

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

// npm run bench:sync: what one sync of the shared window costs Redis, by the processes that live and have lived in it.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'

const root = join(import.meta.dirname, '..')
const redis = needRedis()
const env = { ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli }
const child = spawn(process.execPath, ['--require', 'tsx/cjs', 'bench/sync-cost.ts'], {
  cwd: root,
  stdio: 'inherit',
  env,
})
child.on('exit', (code) => process.exit(code ?? 1))

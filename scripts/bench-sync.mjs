// npm run bench:sync: what one sync of the shared window costs Redis, by the processes that live and have lived in it;
// -- --against REF compares with the build of another commit, in turn.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'

const root = join(import.meta.dirname, '..')
const redis = needRedis()
const env = { ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli }
const child = spawn(process.execPath, ['--require', 'tsx/cjs', 'bench/sync-cost.ts', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env,
})
child.on('exit', (code) => process.exit(code ?? 1))

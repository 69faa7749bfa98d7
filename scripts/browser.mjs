// npm run test:browser [-- part-of-a-name]: the pages in Debian's chromium (`apt-get install chromium`, or
// CHROMIUM=/path/to/it), over a real Redis. Pictures of them come to .cache/screenshots.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'
import { transpile } from './transpile.mjs'

const root = join(import.meta.dirname, '..')
const wanted = process.argv.slice(2)
const files = readdirSync(join(root, 'spec/browser'))
  .filter((f) => f.endsWith('.browser.ts') && (wanted.length === 0 || wanted.some((w) => f.includes(w))))
  .map((f) => join('spec/browser', f))
const redis = needRedis()
const env = { ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli }
const flags = [
  '--require',
  './scripts/typescript.cjs',
  '--test',
  '--test-reporter=spec',
  '--test-timeout=600000',
  '--test-concurrency=3',
]
await transpile()
const { status } = spawnSync(process.execPath, [...flags, ...files], { cwd: root, stdio: 'inherit', env })
process.exit(status ?? 1)

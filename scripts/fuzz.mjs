// A million mutations against jose: FUZZ_RUNS=… FUZZ_SEED=… npm run fuzz
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const args = ['--require', 'tsx/cjs', '--test', '--test-reporter=spec', 'spec/bearer/fuzz.spec.ts']
const env = { FUZZ_RUNS: '1000000', ...process.env }
const { status } = spawnSync(process.execPath, args, { cwd: join(import.meta.dirname, '..'), stdio: 'inherit', env })
process.exit(status ?? 1)

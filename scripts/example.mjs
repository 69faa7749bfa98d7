// npm run example NAME: runs one of examples/ over the built package, under its own name.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const EXAMPLES = {
  'two-processes': ['examples/two-processes/main.mjs'],
  'express-4': ['--require', './spec/support/express4.cjs', 'examples/express-4.cjs'],
  'typescript-esm': ['--import', 'tsx', 'examples/typescript-esm.mts'],
  'usual-order': ['examples/usual-order.mjs'],
  opentelemetry: ['examples/opentelemetry.mjs'],
}
const args = EXAMPLES[process.argv[2]]
if (!args) {
  console.error(`npm run example NAME, where NAME is one of: ${Object.keys(EXAMPLES).join(', ')}`)
  process.exit(1)
}
const run = (...args) => spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1
process.exit(run('scripts/build.mjs', '--stale') || run(...args))

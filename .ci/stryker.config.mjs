// npm run mutation -- --mutate lib/bearer/keys/jwks.ts: every change that Stryker knows must fail a spec. All of it takes hours.
import { readdirSync } from 'node:fs'

/** They start processes and servers, or try a million inputs: too slow to run for each change. */
const SLOW = /(-processes|-load|logout-recipe|fuzz|peers|wycheproof|oidc-provider|revocation\/\w+)\.spec\.ts$/

const SPECS = readdirSync('spec/bearer', { recursive: true })
  .map((file) => `spec/bearer/${file}`)
  .filter((file) => file.endsWith('.spec.ts') && !SLOW.test(file))

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: ['lib/bearer/**/*.ts', 'lib/providers/*.ts', '!lib/**/{assets,index}.ts'],
  testRunner: 'tap',
  plugins: ['@stryker-mutator/tap-runner'],
  tap: {
    testFiles: SPECS,
    nodeArgs: ['-r', '{{hookFile}}', '-r', './scripts/typescript.cjs', '--test-reporter=tap', '{{testFile}}'],
  },
  // Transpiled once for all mutants.
  buildCommand: `node -e "require('./scripts/typescript.cjs').transpile()"`,
  coverageAnalysis: 'perTest',
  thresholds: { high: 95, low: 90, break: 90 },
  reporters: ['clear-text', 'progress-append-only'],
  tempDirName: '.cache/mutation',
  ignorePatterns: ['dist', 'coverage', '.cache', 'bench', 'docs/api'],
  disableTypeChecks: false,
  concurrency: 2,
  timeoutMS: 40_000,
}

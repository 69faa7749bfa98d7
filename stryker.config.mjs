// Mutation testing of one group of scripts/mutation-groups.mjs; npm run mutation runs all of them.
import { posix } from 'node:path'
import { GROUPS } from './scripts/mutation-groups.mjs'

const group = process.env.MUTATION_GROUP ?? 'claims'
const { files, specs, processes } = GROUPS[group]
const preloaded = specs.map((name) => `-r ./.cache/js/spec/bearer/${name}.spec.js`)

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: files.map((name) => posix.join('lib/bearer', `${name}.ts`)),
  plugins: ['./scripts/mutation-runner.mjs'],
  testRunner: processes ? 'command' : 'specs',
  coverageAnalysis: processes ? 'off' : 'perTest',
  // Transpiled once for all mutants of a group.
  buildCommand: 'node scripts/transpile.mjs .cache/js',
  commandRunner: {
    command: `node --test-reporter=./scripts/first-failure.mjs ${preloaded.join(' ')} -e 0`,
  },
  reporters: ['json', 'progress-append-only'],
  jsonReporter: { fileName: `.cache/mutation/${group}.json` },
  tempDirName: `.cache/mutation/sandboxes/${group}`,
  ignorePatterns: ['dist', 'coverage', '.cache', 'demo', 'bench', 'docs/api'],
  disableTypeChecks: false,
  concurrency: Number(process.env.MUTATION_CONCURRENCY ?? 2),
  timeoutMS: 40_000,
  allowEmpty: false,
}

// Mutation testing of the bearer check's floor: npm run mutation. Not a part of npm test: it takes many minutes.
const floor = [
  'algorithm',
  'challenge',
  'claim-options',
  'claims',
  'credentials',
  'json',
  'jws',
  'key-source',
  'scope',
  'session',
  'signature',
  'verify-key',
  'jwt-verifier',
  'authenticate',
]

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: floor.map((name) => `lib/bearer/${name}.ts`),
  testRunner: 'command',
  commandRunner: { command: 'node --import tsx spec/bearer/mutation.ts' },
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: { fileName: '.cache/mutation/report.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportMutants: false },
  tempDirName: '.cache/mutation/sandboxes',
  ignorePatterns: ['dist', 'coverage', '.cache', 'demo', 'bench', 'docs'],
  disableTypeChecks: false,
  thresholds: { high: 95, low: 90, break: 90 },
  concurrency: 2,
  timeoutMS: 15_000,
  allowEmpty: false,
}

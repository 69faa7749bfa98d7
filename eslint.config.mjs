import importX from 'eslint-plugin-import-x'
import regexp from 'eslint-plugin-regexp'
import tseslint from 'typescript-eslint'
import { isInstalled } from './scripts/install.mjs'

/** The rooms of lib/, from the floor up: a room imports from those before it in this list, and from none after it. */
const ROOMS = [
  ...['errors.ts', 'http', 'redis', 'bearer', 'providers', 'advisor', 'throttle', 'inspect', 'oauth'],
  ...['client', 'opentelemetry', 'dashboard', 'top', 'testing', 'index.ts'],
]
/** The same within a room. Files that stand beside these folders may import from all of them. */
const INNER = {
  bearer: ['refusal', 'session', 'credentials', 'keys', 'claims', 'revocation', 'dpop', 'issuers'],
  http: ['request', 'measure', 'fetch', 'answer'],
  throttle: ['setup', 'budget', 'overload', 'store', 'redis', 'request'],
  oauth: [
    ...['keys', 'directories', 'stores', 'parameters', 'records', 'pages'],
    ...['clients', 'tokens', 'client-auth', 'grants', 'endpoints'],
  ],
}

const downOnly = (folder, rooms) =>
  rooms.slice(0, -1).map((room, i) => ({
    target: `${folder}/${room}`,
    from: rooms.slice(i + 1).map((upper) => `${folder}/${upper}`),
    message: `${folder}/${room} imports only from what is before it in ${rooms.join(', ')} (eslint.config.mjs).`,
  }))
const ZONES = [
  ...downOnly('./lib', ROOMS),
  ...Object.entries(INNER).flatMap(([room, rooms]) => downOnly(`./lib/${room}`, rooms)),
  { target: './lib', from: ['./bench', './demo', './examples', './spec'], message: 'lib/ stands alone.' },
  { target: './lib/*/**', from: './lib/*/index.ts', message: 'index.ts is for users of the package.' },
]

/** Folders with a package of their own: without what it installs their types are not known. */
const PACKAGES = ['bench', 'demo', 'spec/clients']

export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      'coverage/',
      '.cache/',
      'etc/',
      'docs/api/',
      'lib/**/assets.ts',
      '**/*.mjs',
      '**/*.cjs',
      'demo/console/*.js',
      'lib/dashboard/*.js',
      ...PACKAGES.filter((folder) => !isInstalled(folder)),
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    // Two programs: bench/, demo/ and spec/clients/ would each read lib/ again.
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.packages.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: { '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
  },
  {
    files: ['lib/**'],
    plugins: { 'import-x': importX, regexp },
    settings: {
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver-next': [importX.createNodeResolver({ extensions: ['.ts'] })],
    },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones: ZONES }],
      // The work for a text from outside grows with its length, and not faster.
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }],
      'no-restricted-globals': [
        'error',
        ...['TextDecoder', 'TextEncoder', 'setImmediate', 'structuredClone'].map((name) => {
          return { name, message: 'Import it: the window of Jest’s jsdom lacks it.' }
        }),
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression[callee.property.name="unref"] > MemberExpression > CallExpression[callee.name=/^set(Timeout|Interval)$/]',
          message: 'unref() of lib/http/clock.ts: the timers of a window are numbers.',
        },
        ...[
          ['NewExpression[callee.name=/^(Type|Range)Error$/]', 'lib/http/help.ts makes errors of misuse'],
          ["ThrowStatement > NewExpression[callee.name='Error']", 'lib/http/help.ts makes errors of misuse'],
          ["CallExpression[callee.property.name='emitWarning']", 'lib/http/warn-once.ts emits warnings'],
        ].map(([selector, who]) => ({ selector, message: `${who}, with a code and the address of its heading.` })),
        ...[
          "NewExpression[callee.name='URL']",
          "MemberExpression[object.name='URL'][property.name=/^(parse|canParse)$/]",
        ].map((selector) => ({ selector, message: 'lib/http/url.ts parses URLs: it looks at the length first.' })),
        {
          selector: 'ObjectExpression > SpreadElement > ObjectExpression.argument',
          message: 'Write the properties without the spread: prettier breaks the lines.',
        },
      ],
    },
  },
  {
    // Their errors are causes or answers inside the package.
    files: [
      'lib/bearer/issuers/introspection.ts',
      'lib/redis/redis-connection.ts',
      'lib/throttle/redis/record.ts',
      'lib/http/warn-once.ts',
    ],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['spec/**', 'demo/spec/**'],
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['describe', 'it', 'test'] }] },
      ],
    },
  },
)

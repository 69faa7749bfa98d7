import { existsSync } from 'node:fs'
import tseslint from 'typescript-eslint'

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
      ...PACKAGES.filter((folder) => !existsSync(`${folder}/node_modules`)),
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: { '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }] },
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

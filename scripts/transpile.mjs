// Compiles lib/, spec/ and demo/ file by file, without a look at the types, what has changed since the last time:
// node scripts/transpile.mjs folder
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { transform } from 'esbuild'
import { OPTIONS } from './esbuild-options.cjs'

const to = process.argv[2]
const files = ['lib', 'spec', 'demo'].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((file) => join(folder, String(file))),
)
await Promise.all(
  files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({ file, made: join(to, file.replace(/\.ts$/, '.js')) }))
    .filter(({ file, made }) => changedAt(made) < changedAt(file))
    .map(async ({ file, made }) => {
      const { code } = await transform(readFileSync(file, 'utf8'), {
        ...OPTIONS,
        loader: 'ts',
        sourcefile: resolve(file),
      })
      mkdirSync(dirname(made), { recursive: true })
      writeFileSync(made, code)
    }),
)

function changedAt(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity
}

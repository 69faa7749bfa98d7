import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transform } from 'esbuild'
import { AHEAD, OPTIONS } from './esbuild-options.cjs'

const root = join(import.meta.dirname, '..')

/** Compiles lib/, spec/ and demo/ file by file, without a look at the types, what has changed since the last time. */
export async function transpile() {
  const files = ['lib', 'spec', 'demo'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, String(file))),
  )
  await Promise.all(
    files
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ source: join(root, file), made: join(root, AHEAD, file.replace(/\.ts$/, '.js')) }))
      .filter(({ source, made }) => changedAt(made) < changedAt(source))
      .map(async ({ source, made }) => {
        const { code } = await transform(readFileSync(source, 'utf8'), { ...OPTIONS, sourcefile: source })
        mkdirSync(dirname(made), { recursive: true })
        writeFileSync(made, code)
      }),
  )
}

function changedAt(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity
}

// Builds dist/ from lib/: for each entry of package.json's `exports` and `bin` one CommonJS file and one of
// declarations, and what several of them share, once. Bundled, because the tarball is to stay small and an app loads
// one file faster than a hundred; the names of functions and classes are kept, so that stack traces and middleware say
// what they are.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { minify } from 'terser'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const { exports, bin = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const built = (value) => /^\.?\/?dist\/(.+)\.js$/.exec(value)?.[1]
const typed = Object.values(exports).map((each) => built(each.default ?? ''))
const entries = [...new Set([...typed, ...Object.values(bin).map(built)])].filter(Boolean)

run('scripts/embed.mjs')
// Under the project, so that what is read from there finds its dependencies.
mkdirSync(join(root, '.cache'), { recursive: true })
const work = mkdtempSync(join(root, '.cache', 'build-'))
try {
  run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', join(work, 'types'))
  rmSync(dist, { recursive: true, force: true })
  await code()
  await declarations()
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** Only ESM can be split into what is shared and what is not; each part is then CommonJS. */
async function code() {
  const options = { platform: 'node', target: 'node20', legalComments: 'none', logLevel: 'warning' }
  const { metafile } = await build({
    ...options,
    ...{ absWorkingDir: root, outdir: join(work, 'code'), outbase: 'lib', entryPoints: sources('lib', '.ts') },
    ...{ bundle: true, packages: 'external', format: 'esm', splitting: true, metafile: true },
    chunkNames: 'shared/[hash]',
  })
  const parts = Object.keys(metafile.outputs).map((file) => join(root, file))
  const { outputFiles } = await build({
    ...options,
    ...{ entryPoints: parts, outdir: dist, outbase: join(work, 'code'), format: 'cjs' },
    ...{ minifySyntax: true, write: false },
  })
  const names = { keep_fnames: true, keep_classnames: true }
  for (const { path, text } of outputFiles) {
    const { code } = await minify(text, { compress: false, mangle: names, format: { max_line_len: 160 } })
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, code)
  }
}

async function declarations() {
  const folder = join(work, 'types')
  const input = Object.fromEntries(entries.filter((e) => typed.includes(e)).map((e) => [e, join(folder, `${e}.d.ts`)]))
  const bundle = await rollup({ input, plugins: [dts()], external: (id) => !/^[./]/.test(id), onLog })
  const chunkFileNames = ({ name }) => `shared/${name.replace(/\.d$/, '')}.d.ts`
  await bundle.write({ dir: dist, format: 'es', chunkFileNames })
  await bundle.close()
}

function onLog(level, log) {
  throw new Error(`declarations: ${level}: ${log.message}`)
}

function sources(folder, extension) {
  return entries.map((entry) => relative(root, join(root, folder, entry + extension)))
}

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

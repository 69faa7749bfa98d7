// Builds dist/ from lib/: one CommonJS file for each module, as TypeScript writes it, with its comments and names, so
// that whoever steps into the package or reads a stack trace finds lib/ again; and one file of declarations for each
// entry of package.json's `exports`, with what several of them share, once. --stale: where lib/ is newer.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
/** Types that may be missing. */
const OPTIONAL = ['@modelcontextprotocol/sdk/server/auth/types.js', '@modelcontextprotocol/server']
if (process.argv.includes('--stale') && builtAt() > changedAt()) process.exit()
const { exports, bin = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const built = (value) => /^\.?\/?dist\/(.+)\.js$/.exec(value)?.[1]
const typed = Object.values(exports)
  .map((each) => built(each.default ?? ''))
  .filter(Boolean)
const entries = [...new Set([...typed, ...Object.values(bin).map(built)])]

run('scripts/embed.mjs')
// Under the project, so that what is read from there finds its dependencies.
mkdirSync(join(root, '.cache'), { recursive: true })
const work = mkdtempSync(join(root, '.cache', 'build-'))
try {
  run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', work)
  rmSync(dist, { recursive: true, force: true })
  for (const file of loaded(entries.map((entry) => join(work, `${entry}.js`))))
    cpSync(file, join(dist, relative(work, file)))
  await declarations()
} finally {
  rmSync(work, { recursive: true, force: true })
}

function builtAt() {
  return statSync(join(dist, 'index.js'), { throwIfNoEntry: false })?.mtimeMs ?? -Infinity
}

function changedAt() {
  const files = readdirSync(join(root, 'lib'), { recursive: true }).map((file) => join(root, 'lib', String(file)))
  return Math.max(...files.map((file) => statSync(file).mtimeMs))
}

/** The files given and those that they require: modules that hold nothing but types are never loaded. */
function loaded(files) {
  const found = new Set(files)
  for (const file of found) {
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/\brequire\("(\.[^"]+)"\)/g)) {
      const required = join(dirname(file), path)
      found.add(existsSync(`${required}.js`) ? `${required}.js` : join(required, 'index.js'))
    }
  }
  return found
}

async function declarations() {
  const input = Object.fromEntries(typed.map((entry) => [entry, join(work, `${entry}.d.ts`)]))
  const bundle = await rollup({
    input,
    plugins: [dts(), { name: 'optional-types', renderChunk: optionalTypes }],
    external: (id) => !/^[./]/.test(id),
    onLog,
  })
  const chunkFileNames = ({ name }) => `shared/${name.replace(/\.d$/, '')}.d.ts`
  await bundle.write({ dir: dist, format: 'es', chunkFileNames })
  await bundle.close()
}

// A type of a package that may be missing is imported below its `@ts-ignore`: an import at the top would be an error.
function optionalTypes(code) {
  for (const path of OPTIONAL) {
    const name = new RegExp(`import \\* as (\\w+) from '${path}';\n`).exec(code)?.[1]
    if (name) code = code.replaceAll(`${name}.`, `import('${path}').`)
    code = code.replace(new RegExp(`import (\\* as \\w+ from )?'${path}';\n`), '')
  }
  return code
}

function onLog(level, log) {
  throw new Error(`declarations: ${level}: ${log.message}`)
}

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

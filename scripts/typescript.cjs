// Loads TypeScript as tsx does, but compiles ahead: `npm test` starts some hundred processes, and each would take half a
// second to compile what it loads. --require scripts/typescript.cjs; `transpile()` fills .cache/js with what has changed.
const { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const { dirname, join, relative } = require('node:path')

const root = join(__dirname, '..')
const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity
const isSource = (file) => /(?<!\.d)\.ts$/.test(file) && !/[\\/](node_modules|\.cache)[\\/]/.test(file)
const madeOf = (file) => join(root, '.cache/js', relative(root, file).replace(/\.ts$/, '.js'))
const optionsOf = (sourcefile) => ({
  sourcefile,
  loader: 'ts',
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  sourcemap: 'external',
  tsconfigRaw: { compilerOptions: { alwaysStrict: true } },
})

/** The package by its own name is its source, as tsconfig.json's `paths` say. */
const resolve = Module._resolveFilename
Module._resolveFilename = function (request, ...rest) {
  const own = /^express-tollgate(\/.+)?$/.exec(request)
  return resolve.call(this, own ? join(root, 'lib', own[1] ?? '', 'index.ts') : request, ...rest)
}

Module._extensions['.ts'] = (module, file) => {
  const made = madeOf(file)
  const code =
    changedAt(made) >= changedAt(file)
      ? readFileSync(made, 'utf8')
      : require('esbuild').transformSync(readFileSync(file, 'utf8'), optionsOf(file)).code
  module._compile(code, file)
}

/** Stacks by the lines of the sources. --enable-source-maps reads every map at once, a third of the time to load lib/. */
const maps = new Map()
Error.prepareStackTrace = (err, frames) => `${err}${frames.map((frame) => `\n    at ${inSource(frame)}`).join('')}`

function inSource(frame) {
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()]
  const { originalLine, originalColumn } = mapOf(file)?.findEntry(line - 1, column - 1) ?? {}
  if (originalLine === undefined) return String(frame)
  return String(frame).replace(`${file}:${line}:${column}`, `${file}:${originalLine + 1}:${originalColumn + 1}`)
}

function mapOf(file) {
  if (typeof file !== 'string' || !file.endsWith('.ts')) return undefined
  const map = `${madeOf(file)}.map`
  if (!maps.has(file))
    maps.set(file, existsSync(map) ? new Module.SourceMap(JSON.parse(readFileSync(map, 'utf8'))) : undefined)
  return maps.get(file)
}

/** Compiles what has changed of lib/, spec/ and demo/, file by file, without a look at the types. */
exports.transpile = async function () {
  const { transform } = require('esbuild')
  const files = ['lib', 'spec', 'demo'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(root, folder, String(file))),
  )
  const stale = files.filter((file) => isSource(file) && changedAt(madeOf(file)) < changedAt(file))
  await Promise.all(
    stale.map(async (file) => {
      const { code, map } = await transform(readFileSync(file, 'utf8'), optionsOf(file))
      mkdirSync(dirname(madeOf(file)), { recursive: true })
      writeFileSync(`${madeOf(file)}.map`, map)
      writeFileSync(madeOf(file), code)
    }),
  )
}

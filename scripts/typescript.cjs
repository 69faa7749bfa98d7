// Loads the TypeScript of specs and of the processes they start: --require scripts/typescript.cjs. What
// scripts/transpile.mjs has put into .cache/js it takes from there where that is as new as the source, as to compile
// each file anew would cost every one of some hundreds of processes half a second.
const { readFileSync, statSync } = require('node:fs')
const Module = require('node:module')
const { join, relative } = require('node:path')
const { AHEAD, OPTIONS } = require('./esbuild-options.cjs')

const root = join(__dirname, '..')

/** The package by its own name is its source, as tsconfig.json's `paths` say. */
const resolve = Module._resolveFilename
Module._resolveFilename = function (request, ...rest) {
  const own = /^express-tollgate(\/.+)?$/.exec(request)
  return resolve.call(this, own ? join(root, 'lib', own[1] ?? '', 'index.ts') : request, ...rest)
}

Module._extensions['.ts'] = (module, file) => module._compile(ahead(file) ?? now(file), file)

function ahead(file) {
  const made = join(root, AHEAD, relative(root, file).replace(/\.ts$/, '.js'))
  try {
    return statSync(made).mtimeMs >= statSync(file).mtimeMs ? readFileSync(made, 'utf8') : undefined
  } catch {
    return undefined // not compiled ahead
  }
}

function now(file) {
  const source = readFileSync(file, 'utf8')
  return require('esbuild').transformSync(source, { ...OPTIONS, sourcefile: file }).code
}

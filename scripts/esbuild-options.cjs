/** How specs are compiled: without a look at the types, in strict mode as ever, and for the oldest Node. */
exports.OPTIONS = {
  ...{ loader: 'ts', format: 'cjs', platform: 'node', target: 'node20', keepNames: true, sourcemap: 'inline' },
  tsconfigRaw: { compilerOptions: { alwaysStrict: true } },
}
/** The folder of what is compiled ahead. */
exports.AHEAD = '.cache/js'

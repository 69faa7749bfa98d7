/** How specs are compiled: without a look at the types, and for the oldest Node. */
exports.OPTIONS = { format: 'cjs', platform: 'node', target: 'node20', keepNames: true, sourcemap: 'inline' }

// Preloaded with EXPRESS=4: `express` is then the dev dependency `express4`, for the specs and for lib/ alike.
const Module = require('node:module')

const resolve = Module._resolveFilename
Module._resolveFilename = function (request, ...rest) {
  return resolve.call(this, request === 'express' ? 'express4' : request, ...rest)
}

import type * as IoRedis from 'ioredis'

/** ioredis, loaded at the first call: an app without Redis never does. */
export function ioredis(): typeof IoRedis {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- an import would load it with the package
  return require('ioredis') as typeof IoRedis
}

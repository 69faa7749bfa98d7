import { shown } from '../http/options'

/** What the package uses of an app's client: ioredis 5 and 6, iovalkey and their Cluster classes fit. */
export interface RedisClient {
  readonly isCluster?: boolean
  /** Another client like it. */
  duplicate(...args: never[]): unknown
}

/**
 * Checks what a factory over Redis was given.
 *
 * @throws {TypeError} where `to` is neither a client nor a URL; a URL is never shown, since it may hold a password
 */
export function checkRedis(factory: string, to: unknown): void {
  const isUrl = typeof to === 'string'
  if (isUrl ? /^rediss?:\/\//.test(to) : typeof (to as RedisClient | null | undefined)?.duplicate === 'function') return
  const received = isUrl ? 'another string' : shown(to)
  throw new TypeError(`${factory} takes an ioredis client or a redis:// URL; received ${received}`)
}

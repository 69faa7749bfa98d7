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
 * @throws {TypeError} where `to` is neither a client nor a URL, or its database is no number; a URL is never shown, since
 *   it may hold a password
 */
export function checkRedis(factory: string, to: unknown): void {
  if (typeof to === 'string') return checkUrl(factory, to)
  if (typeof (to as RedisClient | null | undefined)?.duplicate === 'function') return
  throw new TypeError(`${factory} takes an ioredis client or a redis:// URL; received ${shown(to)}`)
}

function checkUrl(factory: string, url: string): void {
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    throw new TypeError(`${factory} takes an ioredis client or a redis:// URL; received another string`)
  }
  const { pathname } = new URL(url)
  if (/^\/?$|^\/\d{1,9}$/.test(pathname)) return
  throw new TypeError(
    `${factory}: a URL ends in the number of a database, as in redis://host:6379/1; received ${shown(pathname)}`,
  )
}

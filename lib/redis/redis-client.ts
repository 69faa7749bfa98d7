import { storeError } from '../http/help'
import { shownNames } from '../http/options'
import { isUrl, knownUrl } from '../http/url'

/** The parts of an app's client that the package uses: ioredis 5 and 6, iovalkey and their Cluster classes fit. */
export interface RedisClient {
  readonly isCluster?: boolean | undefined
  /** State of the connection: `'ready'`. Clients of node-redis have none. */
  readonly status: string
  /** Another client like it. */
  duplicate(...args: never[]): unknown
}

/**
 * Checks the client or URL that a factory over Redis received.
 *
 * @param factory its name: `redisStore`
 * @throws {TypeError} where `to` is neither a client nor a URL, or its database is no number; a URL is never shown, since
 *   it may hold a password
 */
export function checkRedis(factory: string, to: unknown): void {
  if (typeof to === 'string') return checkUrl(factory, to)
  const other = otherClient(to)
  if (other !== undefined) throw storeError(`${factory}: this is ${other}`)
  if (typeof (to as RedisClient | null | undefined)?.duplicate === 'function') return
  throw storeError(
    `${factory} takes an ioredis client or a redis:// URL; received ${shownNames(to)}${lineFor(factory, to)}`,
  )
}

/** What to write where the client or the address stands inside an object, as in the options of other packages. */
function lineFor(factory: string, to: unknown): string {
  const name = factory.replace('()', '')
  const { client, redis, url, host, port, sendCommand } = (to ?? {}) as Readonly<Record<string, unknown>>
  if ((client ?? redis) !== undefined) return `: write ${name}(client)`
  if (url !== undefined) return `: write ${name}(url)`
  return (host ?? port ?? sendCommand) === undefined ? '' : `: write ${name}('redis://host:6379')`
}

/** Properties that identify clients of other packages. */
interface OtherClient {
  readonly status?: unknown
  readonly HGETALL?: unknown
  readonly nodeClient?: unknown
  readonly getSentinelNode?: unknown
  readonly hgetall?: unknown
  readonly shaScripts?: unknown
}

/** Name of another package's client and what to pass instead; undefined for an unknown client. */
export function otherClient(to: unknown): string | undefined {
  const { status, HGETALL, nodeClient, getSentinelNode, hgetall, shaScripts } = (to ?? {}) as OtherClient
  if (typeof status === 'string') return undefined
  if (typeof hgetall === 'function' && shaScripts !== undefined) {
    return 'ioredis-mock, which is no Redis: pass the URL of a Redis, or leave the store out in tests'
  }
  if (typeof HGETALL !== 'function') return undefined
  if (typeof nodeClient === 'function') {
    return 'a node-redis cluster: pass an ioredis client, as in new Cluster([{ host, port }])'
  }
  if (typeof getSentinelNode === 'function') {
    return 'a node-redis sentinel: pass an ioredis client, as in new Redis({ sentinels, name })'
  }
  return 'a node-redis client: pass its URL, or an ioredis client'
}

function checkUrl(factory: string, url: string): void {
  if (!/^rediss?:\/\//.test(url) || !isUrl(url)) {
    throw storeError(`${factory} takes an ioredis client or a redis:// URL; received ${otherText(url)}`)
  }
  const { pathname } = knownUrl(url)
  if (/^\/?$|^\/\d{1,9}$/.test(pathname)) return
  throw storeError(
    `${factory}: a URL ends in the number of a database, as in redis://host:6379/1; received another path`,
  )
}

function otherText(text: string): string {
  if (/^rediss?:/i.test(text)) return 'one that cannot be read: it is redis://name:password@host:6379/0'
  if (text.startsWith('/') || text.startsWith('unix:')) {
    return 'the path of a socket: pass an ioredis client, as in new Redis({ path })'
  }
  if (/^https?:\/\//i.test(text)) return 'an http URL: pass the redis:// or rediss:// URL of the same server'
  if (/^[^\s/]+(:\d+)?(\/\d+)?$/.test(text)) return 'one without its scheme: add redis://, as in redis://localhost:6379'
  return 'another string'
}

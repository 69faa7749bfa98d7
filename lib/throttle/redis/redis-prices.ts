import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import { pricesLua } from './assets'

const PRICES = script(pricesLua)
/** A price that nobody has said anew for a day is forgotten. */
const KEPT_SEC = 86_400
/** Routes kept of a window: as many as a process tells apart. */
const MOST_ROUTES = 512

/**
 * Says what requests of a window's routes take here, and answers what was last said of each route by any process, today
 * or in an earlier deployment. Microseconds, by hashes of the routes.
 *
 * @param window the window's name
 * @throws {Error} as {@link RedisConnection.run} does, or where something else is kept under the key
 */
export async function sharePrices(
  redis: RedisConnection,
  prefix: string,
  window: string,
  prices: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const args = [KEPT_SEC, MOST_ROUTES, ...[...prices].flat()]
  const answer = (await redis.run(PRICES, [`${prefix}prices:${window}`], args)) as string[]
  const known = new Map<string, number>()
  for (let i = 0; i < answer.length; i += 2) known.set(answer[i] as string, Number(answer[i + 1]))
  return known
}

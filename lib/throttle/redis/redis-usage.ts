import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import { HOURS_KEPT } from '../../advisor/hourly'
import { usageLua } from './assets'

const ADD = script(usageLua)
const READ = script("return redis.call('HGETALL', KEYS[1])")
const HOUR_MS = 3_600_000

/** The key of what is counted of one policy in one hour. */
export function usageKey(prefix: string, policy: string, hour: number): string {
  return `${prefix}usage:${hour}:${policy}`
}

/** A pattern of SCAN that all these keys match. */
export function usageKeyPattern(prefix: string): string {
  return `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}usage:*:*`
}

/** What a key says; undefined for one that is none of these. */
export function parseUsageKey(prefix: string, key: string): { policy: string; hour: number } | undefined {
  const [, hour, policy] = /^usage:(\d{1,9}):(.*)$/s.exec(key.startsWith(prefix) ? key.slice(prefix.length) : '') ?? []
  return policy === undefined ? undefined : { policy, hour: Number(hour) }
}

/** Adds counts to those of an hour. They expire a week after it. */
export async function addUsage(
  redis: RedisConnection,
  key: string,
  hour: number,
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  const expires = (hour + 1 + HOURS_KEPT) * HOUR_MS
  await redis.run(ADD, [key], [expires, ...[...counts].flat()])
}

/** The counts of some hours, by field. */
export async function readUsage(redis: RedisConnection, keys: readonly string[]): Promise<Record<string, string>[]> {
  const read = await Promise.all(keys.map((key) => redis.run(READ, [key], [])))
  return read.map((flat) => fieldsOf(flat as readonly string[]))
}

function fieldsOf(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null) as Record<string, string>
  for (let i = 0; i + 1 < flat.length; i += 2) fields[flat[i] as string] = flat[i + 1] as string
  return fields
}

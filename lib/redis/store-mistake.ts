import { otherClient } from './redis-client'

/** Factories of stores, each with the parts that take its stores. */
const TAKEN_BY = {
  redisStore: { takes: 'throttle()', others: 'redisOAuthStore' },
  redisOAuthStore: { takes: 'authorizationServer()', others: 'redisStore' },
} as const

/** Stores of other packages by methods that ours lack. */
const FOREIGN: readonly (readonly [name: string, ...methods: readonly string[]])[] = [
  ['an express-rate-limit store, such as that of rate-limit-redis', 'increment', 'resetKey'],
  ['a limiter of rate-limiter-flexible', 'consume', 'penalty'],
  ['an adapter of oidc-provider', 'upsert', 'consume'],
  ['an express-session store', 'get', 'set', 'destroy'],
  ['a cache such as Keyv, in which no step is atomic', 'get', 'set', 'delete'],
]

/**
 * What stands in the option `store`, and the right line. A URL and the values of an object may hold a password: neither
 * is shown.
 *
 * @param factory makes the stores that the option takes
 * @param value no such store
 * @returns `a redis:// URL: write store: redisStore('redis://…')`; undefined for something else
 */
export function storeMistake(factory: keyof typeof TAKEN_BY, value: unknown): string | undefined {
  const { takes, others } = TAKEN_BY[factory]
  const line = (what: string) => `write store: ${factory}(${what})`
  if (typeof value === 'string') {
    return /^rediss?:/i.test(value) ? `a redis:// URL: ${line("'redis://…'")}` : `a text: ${line("'redis://…'")}`
  }
  if (typeof value === 'function') {
    const isFactory = /^redis(OAuth)?Store$/.test(value.name)
    const isAdapter = hasAll((value as { prototype?: unknown }).prototype, ['upsert', 'consume'])
    if (isAdapter) return `an adapter of oidc-provider, as a class: ${line('url')}`
    return isFactory ? `the factory itself: ${line('url')}` : `a function: call it, or ${line('url')}`
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (hasAll(value, ['then'])) return 'a promise: await it first'
  const other = otherClient(value)
  if (other !== undefined) return `${other}. Then ${line('client')}`
  if (hasAll(value, ['duplicate'])) return `a Redis client: ${line('client')}`
  if (hasAll(value, factory === 'redisStore' ? ['get', 'claim', 'count'] : ['serverOf', 'watch'])) {
    return `a store of ${TAKEN_BY[others].takes}; ${takes} needs one of its own: ${line('url')}`
  }
  const foreign = FOREIGN.find(([, ...methods]) => hasAll(value, methods))
  return foreign && `${foreign[0]}: ${line('url')}`
}

function hasAll(value: unknown, methods: readonly string[]): boolean {
  const object = (value ?? {}) as Readonly<Record<string, unknown>>
  return methods.every((method) => typeof object[method] === 'function')
}

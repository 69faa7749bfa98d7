import type { Dialect } from 'express-tollgate'

/** Settings from the environment. */
export interface Settings {
  readonly port: number
  /** Public origin behind a proxy: `http://localhost:8080`. Undefined: no proxy. */
  readonly origin: string | undefined
  /** Undefined: windows are in memory. */
  readonly redisUrl: string | undefined
  readonly dialect: Dialect
  readonly limitMs: number
  readonly windowMs: number
}

/**
 * Reads PORT, ORIGIN, REDIS_URL, DIALECT, LIMIT_MS and WINDOW_MS.
 *
 * @throws {RangeError} naming the variable, the allowed values and the value received
 */
export function settingsIn(env: NodeJS.ProcessEnv): Settings {
  const { ORIGIN, REDIS_URL, DIALECT = '' } = env
  if (ORIGIN && !(URL.canParse(ORIGIN) && new URL(ORIGIN).origin === ORIGIN)) {
    throw new RangeError(`ORIGIN must be an origin such as http://localhost:8080; it is ${JSON.stringify(ORIGIN)}`)
  }
  if (REDIS_URL && !/^rediss?:\/\/./.test(REDIS_URL)) {
    throw new RangeError('REDIS_URL must be a redis:// or rediss:// URL') // never shown, since it may hold a password
  }
  if (!['', 'standard', 'familysearch'].includes(DIALECT)) {
    throw new RangeError(`DIALECT must be standard or familysearch; it is ${JSON.stringify(DIALECT)}`)
  }
  return {
    port: whole(env, 'PORT', 3_000, 0, 65_535),
    origin: ORIGIN || undefined,
    redisUrl: REDIS_URL || undefined,
    dialect: (DIALECT || 'standard') as Dialect,
    limitMs: whole(env, 'LIMIT_MS', 18_000, 1, 86_400_000),
    windowMs: whole(env, 'WINDOW_MS', 60_000, 10, 2_592_000_000),
  }
}

function whole(env: NodeJS.ProcessEnv, name: string, usual: number, least: number, most: number): number {
  const value = env[name] || String(usual)
  if (/^\d{1,10}$/.test(value) && Number(value) >= least && Number(value) <= most) return Number(value)
  const range = `${least.toLocaleString('en')} to ${most.toLocaleString('en')}`
  throw new RangeError(`${name} must be a whole number from ${range}; it is ${JSON.stringify(value)}`)
}

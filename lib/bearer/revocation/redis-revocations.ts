import { type Clock, checkClock, systemClock } from '../../http/clock'
import { optionError } from '../../http/help'
import { stayAlive } from '../../http/stay-alive'
import { warn } from '../../http/warn-once'
import { checkedLater, oneOf, readOptions, wholeNumber } from '../../http/option-table'
import { shown } from '../../http/options'
import { KEY_PREFIX, checkKeyPrefix } from '../../redis/key-prefix'
import { type RedisClient, checkRedis } from '../../redis/redis-client'
import { RedisConnection } from '../../redis/redis-connection'
import { RedisUnavailableError } from '../../redis/redis-failure'
import { script } from '../../redis/script'
import type { Session } from '../session/session'
import { followLua, revokeLua } from './assets'
import { type Revocation, type RevocationEntry, RevocationList, entryOf } from './revocation-list'
import type { RevocationSource } from './revocation-source'

/** Options of {@link redisRevocations}. */
export interface RedisRevocationsOptions {
  /** Prefix of every key: ends in a colon, no braces, at most 64 characters. Default `tollgate:`. */
  readonly prefix?: string | undefined
  /** Longest lifetime of any token; revocations are kept for it. Whole seconds, 60 to 31,536,000. Default 86,400. */
  readonly tokenLifetimeSec?: number | undefined
  /** Longest outage of Redis before `onOutage` applies: whole milliseconds, 500 to 3,600,000. Default 5,000. */
  readonly maxOutageMs?: number | undefined
  /** Requests in a longer outage: `'closed'`: 503; `'open'`: checked by what is known, with a warning. Default `'closed'`. */
  readonly onOutage?: 'closed' | 'open' | undefined
  /** Clock, for tests: `manualClock()`. Default: the machine's. */
  readonly clock?: Clock | undefined
}

const TABLE = {
  prefix: checkedLater<string>(KEY_PREFIX),
  tokenLifetimeSec: wholeNumber(60, 31_536_000, 86_400),
  maxOutageMs: wholeNumber(500, 3_600_000, 5_000),
  onOutage: oneOf<'closed' | 'open'>(['closed', 'open'], 'closed'),
  clock: checkedLater<Clock>(systemClock),
}

/** Revocations in Redis, for `requireBearer({ revocation })`. */
export interface RedisRevocations extends RevocationSource {
  /** Revokes one token, by its `jti`. */
  revokeToken(issuer: string, id: string): Promise<void>
  /** Revokes the tokens of one login at the issuer, by their claim `sid`: for a sign-out (back-channel logout). */
  revokeSession(issuer: string, sid: string): Promise<void>
  /**
   * Revokes a subject's tokens issued up to a moment, in seconds since 1970. Default: now.
   *
   * @param sub the `userId` of its sessions, or the `sub` of its tokens, where a preset reads the one from another claim
   */
  revokeSubject(issuer: string, sub: string, beforeSec?: number): Promise<void>
  /** Revokes all tokens issued to a client up to a moment, in seconds since 1970. Default: now. */
  revokeClient(issuer: string, clientId: string, beforeSec?: number): Promise<void>
  /** Resolves after the first read of Redis. */
  ready(): Promise<void>
  /** Closes the connection; safe to call twice. */
  close(): Promise<void>
  /** As `close()`: `await using revocations = redisRevocations(url)`. */
  [Symbol.asyncDispose](): Promise<void>
}

const FOLLOW = script(followLua)
const REVOKE = script(revokeLua)
/** Commands that the Redis user needs. */
const RIGHTS = '+evalsha +eval +zscore +zrange +zrangebyscore +zadd +zrem +incr +get +pexpireat'
const DEADLINE_MS = 1_000
const SILENT_MS = 1_300
/** Interval of reads in each process: a revocation arrives within 250 ms, round trip included. */
const FOLLOW_MS = 100
/** Interval at which ended revocations are removed. */
const TIDY_MS = 60_000

/**
 * Revocations that all processes share through Redis. Each process reads the numbered history ten times a second. When
 * the history is a different one (Redis lost data), the process reads all of it and writes back what Redis has lost. A
 * revocation made here counts here at once. The promise resolves when Redis has it; after a rejection the write is
 * retried.
 *
 * @param to an ioredis client or a URL; either way a separate connection is opened
 * @throws {TypeError|RangeError} naming the option
 */
export function redisRevocations(to: RedisClient | string, options: RedisRevocationsOptions = {}): RedisRevocations {
  const values = readOptions('redisRevocations()', options, TABLE)
  const { prefix, tokenLifetimeSec, maxOutageMs, onOutage, clock } = values
  checkKeyPrefix(prefix)
  checkClock(clock)
  checkRedis('redisRevocations()', to)

  const keys = ['log', 'over', 'last'].map((name) => `${prefix}{revoked}:${name}`)
  const list = new RevocationList()
  /** Writes that Redis has not confirmed; retried until it does. */
  const unwritten = new Map<string, number>()
  let tidyAt = 0
  const redis = new RedisConnection(to, { prefix, rights: RIGHTS, silentMs: SILENT_MS, deadlineMs: DEADLINE_MS })
  /** Last entry read of Redis's history, and its number; 0 before the first. */
  let followed = { number: '0', entry: '' }
  let readAt = -Infinity
  let closed = false
  let warnedOfReading = false
  let warnedOfWriting = false
  let problem: unknown
  let current: Promise<void> = Promise.resolve()
  let cancel = () => {}
  void turn()

  return {
    state,
    ready: () => stayAlive(ready()),
    close,
    [Symbol.asyncDispose]: close,
    revokeToken: async (issuer, id) => revoke({ kind: 'token', issuer, id, overMs: over(clock.date() / 1_000) }),
    revokeSession: async (issuer, id) => revoke({ kind: 'login', issuer, id, overMs: over(clock.date() / 1_000) }),
    revokeSubject: async (issuer, id, before) => revoke(upTo('subject', issuer, id, before)),
    revokeClient: async (issuer, id, before) => revoke(upTo('client', issuer, id, before)),
  }

  function state(session: Session): 'valid' | 'revoked' | { readonly unavailable: unknown } {
    if (list.revokes(session)) return 'revoked'
    if (clock.now() - readAt <= maxOutageMs) return 'valid'
    if (!warnedOfReading) {
      const closed = onOutage === 'closed'
      const meanwhile = closed ? "requests get 503 (onOutage: 'closed')" : "requests are let in by what is known (onOutage: 'open')" // prettier-ignore
      warn(
        'TOLLGATE_REVOCATIONS',
        `revocations cannot be read from Redis: ${reason(problem)}. Until they can, ${meanwhile}`,
      )
    }
    warnedOfReading = true
    return onOutage === 'closed' ? { unavailable: problem } : 'valid'
  }

  function upTo(kind: 'subject' | 'client', issuer: string, id: string, before?: number): Revocation {
    const beforeSec = Math.floor(before ?? clock.date() / 1_000)
    if (!(beforeSec >= 0 && beforeSec < 1e12))
      throw optionError(`beforeSec is no time; received ${shown(before)}`, RangeError)
    return { kind, issuer, id, beforeSec, overMs: over(beforeSec) }
  }

  function over(fromSec: number): number {
    return Math.ceil((fromSec + tokenLifetimeSec) * 1_000) + 300_000 // and the largest tolerance
  }

  async function revoke(revocation: Revocation): Promise<void> {
    const entry = entryOf(revocation)
    list.add(entry)
    unwritten.set(entry, revocation.overMs)
    await write([{ entry, overMs: revocation.overMs }])
  }

  async function write(entries: readonly RevocationEntry[]): Promise<void> {
    const args = entries.flatMap(({ entry, overMs }) => [Math.ceil(overMs), entry])
    try {
      await redis.run(REVOKE, keys, [Math.floor(clock.date()), ...args])
    } catch (err) {
      if (!warnedOfWriting && isRefusedWrite(err)) {
        const where = `revocations cannot be written to ${keys.join(', ')} in Redis at ${redis.server}`
        warn('TOLLGATE_REVOCATIONS', `${where}: ${reason(err)}. Until they can, they count in this process only`)
        warnedOfWriting = true
      }
      throw err
    }
    warnedOfWriting = false
    for (const { entry } of entries) unwritten.delete(entry)
  }

  /** Reads the history in a loop, with pauses, until closed. */
  async function turn(): Promise<void> {
    current = follow()
    await current
    if (!closed) cancel = clock.after(FOLLOW_MS, () => void turn())
  }

  async function follow(): Promise<void> {
    const askedAt = clock.now()
    try {
      const answer = await redis.run(FOLLOW, keys.slice(0, 1), [followed.number, followed.entry])
      const [same, ...rest] = answer as (string | number)[]
      const there = learn(rest)
      const lost = same === 1 ? [] : list.entries().filter(({ entry }) => !there.has(entry))
      const missing = [...lost, ...[...unwritten].map(([entry, overMs]) => ({ entry, overMs }))]
      if (missing.length > 0) await write(missing)
      readAt = askedAt
      warnedOfReading = false
    } catch (cause) {
      problem = cause
    }
    if (askedAt < tidyAt) return
    list.forget(clock.date())
    tidyAt = askedAt + TIDY_MS
  }

  /** Adds revocations with their numbers. */
  function learn(numbered: readonly (string | number)[]): ReadonlySet<string> {
    const learnt = new Set<string>()
    for (let i = 0; i < numbered.length; i += 2) {
      const [entry, number] = [String(numbered[i]), String(numbered[i + 1])]
      if (list.add(entry)) learnt.add(entry)
      followed = { number, entry }
    }
    return learnt
  }

  async function ready(): Promise<void> {
    while (readAt === -Infinity && !closed) {
      await current
      if (readAt === -Infinity) await new Promise<void>((resolve) => clock.after(FOLLOW_MS, resolve))
    }
  }

  function close(): Promise<void> {
    closed = true
    cancel()
    redis.close()
    return Promise.resolve()
  }
}

/** The server answers and refuses the write: a right is missing, or it is a replica. Reads report an outage. */
function isRefusedWrite(err: unknown): boolean {
  if (err instanceof RedisUnavailableError) return err.isReply || err.code === 'READONLY'
  return (err as Error).name === 'ReplyError'
}

function reason(problem: unknown): string {
  return problem instanceof Error ? problem.message : 'it was not read yet'
}

import { type Clock, NEVER, checkClock, momentOf, sinceMs, systemClock } from '../../http/clock'
import { optionError } from '../../http/help'
import { stayAlive } from '../../http/stay-alive'
import { warn, warnOnce } from '../../http/warn-once'
import { checkedLater, oneOf, readOptions, wholeNumber } from '../../http/option-table'
import { shown } from '../../http/options'
import { KEY_PREFIX, checkKeyPrefix } from '../../redis/key-prefix'
import { type RedisClient, checkRedis } from '../../redis/redis-client'
import { RedisConnection } from '../../redis/redis-connection'
import { RedisUnavailableError } from '../../redis/redis-failure'
import { script } from '../../redis/script'
import type { Session } from '../session/session'
import { followLua, revokeLua } from './assets'
import { type NamingRules, type Revocation, type RevocationEntry, RevocationList, entriesOf } from './revocation-list'
import type { RevocationSource, RevocationState } from './revocation-source'

/** Options of {@link redisRevocations}. */
export interface RedisRevocationsOptions {
  /** Prefix of every key: ends in a colon, no braces, at most 64 characters. Default `tollgate:`. */
  readonly prefix?: string | undefined
  /**
   * Longest lifetime of any token; revocations are kept for it. A token that lives longer is warned of. Whole seconds, 60
   * to 31,536,000. Default 86,400.
   */
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

/**
 * Revocations in Redis, for `requireBearer({ revocation })`. The issuer may be given by any of its names, with or without a
 * slash at the end. Each `revoke…()` returns what it has revoked, for a log.
 */
export interface RedisRevocations extends RevocationSource {
  /**
   * Revokes one token, by its `jti`.
   *
   * @param expSec `exp` of the token: the revocation is kept until then. Default: for `tokenLifetimeSec`
   */
  revokeToken(issuer: string, id: string, expSec?: number): Promise<Revocation>
  /**
   * Revokes the tokens of one login at the issuer, by their claim `sid`, or what the preset or `sidFrom` has in its place:
   * for a sign-out (back-channel logout).
   *
   * @param of user and client of the login: the user's tokens of that client that name no login are revoked, too
   */
  revokeSession(
    issuer: string,
    sid: string,
    of?: {
      /** The user: `sub` of the logout token. */
      readonly sub: string
      /** The client: `aud` of the logout token. */
      readonly clientId: string
    },
  ): Promise<Revocation>
  /**
   * Revokes a subject's tokens issued up to a moment, in seconds since 1970. Default: now.
   *
   * @param sub the `userId` of its sessions, or the `sub` of its tokens, where a preset reads the one from another claim
   */
  revokeSubject(issuer: string, sub: string, beforeSec?: number): Promise<Revocation>
  /** Revokes all tokens issued to a client up to a moment, in seconds since 1970. Default: now. */
  revokeClient(issuer: string, clientId: string, beforeSec?: number): Promise<Revocation>
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
const RIGHTS = '+evalsha +eval +zscore +zrange +zrangebyscore +zadd +zrem +set +incr +pexpireat'
const DEADLINE_MS = 1_000
const SILENT_MS = 1_300
/** Interval of reads in each process: a revocation arrives within 250 ms, round trip included. */
const FOLLOW_MS = 100
/** An attempt that failed longer ago says nothing of now: the process was frozen meanwhile. */
const GIVEN_UP_MS = 3_000
/** Interval at which ended revocations are removed. */
const TIDY_MS = 60_000
/** Largest tolerance of an issuer's clock. */
const TOLERANCE_SEC = 300
/** A Date goes as far, and more. */
const LATEST_SEC = 1e12 - 1

/**
 * Revocations that all processes share through Redis. Each process reads the numbered history ten times a second. When
 * the history is a different one (Redis lost data), the process reads all of it and writes back what Redis has lost. A
 * process that was frozen for longer than an outage may last reads it before it answers. A revocation made here counts
 * here at once. The promise resolves when Redis has it; after a rejection the write is
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
  /** When the last good read began. */
  let readAt = NEVER
  /** When reading was last given up. */
  let givenUpAt = -Infinity
  let closed = false
  let warnedOfReading = false
  let warnedOfWriting = false
  let problem: unknown
  let reading: Promise<void> | undefined
  let catching: Promise<void> | undefined
  let cancel = () => {}
  void turn()

  return {
    state,
    ready: () => stayAlive(ready()),
    close,
    [Symbol.asyncDispose]: close,
    revokeToken: async (issuer, id, expSec) => revoke('token', issuer, { id }, undefined, expSec),
    revokeSession: async (issuer, sid, of) => revoke('login', issuer, { sid, ...of }),
    revokeSubject: async (issuer, sub, before) => revoke('subject', issuer, { sub }, before),
    revokeClient: async (issuer, clientId, before) => revoke('client', issuer, { clientId }, before),
  }

  function state(session: Session, rules?: NamingRules): RevocationState | Promise<RevocationState> {
    const { claims, issuer } = session
    const { exp, iat = clock.date() / 1_000 } = claims as Readonly<Record<string, number | undefined>>
    if (exp !== undefined && exp - iat > tokenLifetimeSec) warnOfLifetime(issuer, Math.ceil(exp - iat))
    if (list.revokes(session, rules)) return 'revoked'
    if (!isLate()) return 'valid'
    if (isGivenUp()) return stateInOutage()
    // The process is new, or was frozen.
    return stayAlive(caughtUp()).then(() => {
      if (list.revokes(session, rules)) return 'revoked'
      return isLate() ? stateInOutage() : 'valid'
    })
  }

  function warnOfLifetime(issuer: string, lifeSec: number): void {
    warnOnce(
      'TOLLGATE_REVOCATIONS',
      `tokens of the issuer ${shown(issuer)} live ${lifeSec} s, and revocations are kept for ${tokenLifetimeSec} s: a ` +
        `token revoked without expSec would be valid again. Set tokenLifetimeSec: ${lifeSec}`,
      `TOLLGATE_REVOCATIONS: lifetime ${issuer}`,
    )
  }

  function isLate(): boolean {
    return sinceMs(clock, readAt) > maxOutageMs
  }

  /** Whether Redis failed for as long as anybody waits, and has failed since. */
  function isGivenUp(): boolean {
    return clock.now() - givenUpAt <= GIVEN_UP_MS
  }

  function stateInOutage(): RevocationState {
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

  /** @param ids the id, and for a login its user and client */
  async function revoke(
    kind: Revocation['kind'],
    issuer: string,
    ids: Readonly<Record<string, string>>,
    before?: number,
    exp?: number,
  ): Promise<Revocation> {
    for (const [name, value] of Object.entries({ issuer, ...ids })) needText(name, value)
    if (/[{}]/.test(issuer)) throw optionError(`issuer must name one tenant, as iss does; received ${shown(issuer)}`)
    const beforeSec = moment('beforeSec', before ?? clock.date() / 1_000)
    const untilSec =
      (exp === undefined ? beforeSec + tokenLifetimeSec : moment('expSec', Math.min(exp, LATEST_SEC))) + TOLERANCE_SEC
    const [id = '', sub, clientId] = Object.values(ids)
    const of = sub !== undefined && clientId !== undefined ? { sub, clientId } : undefined
    const revocation = { kind, issuer, id, ...(of && { of }), beforeSec, untilSec }
    const entries = entriesOf(revocation)
    for (const { entry, overMs } of entries) {
      list.add(entry)
      unwritten.set(entry, overMs)
    }
    await write(entries)
    return revocation
  }

  async function write(entries: readonly RevocationEntry[]): Promise<void> {
    const args = entries.flatMap(({ entry, overMs }) => [overMs, entry])
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
    await read()
    if (!closed) cancel = clock.after(FOLLOW_MS, () => void turn())
  }

  function read(): Promise<void> {
    return (reading ??= follow().finally(() => (reading = undefined)))
  }

  /** Reads until it succeeds, or until the deadline; once for all who wait. */
  function caughtUp(): Promise<void> {
    return (catching ??= catchUp().finally(() => (catching = undefined)))
  }

  async function catchUp(): Promise<void> {
    const until = clock.now() + DEADLINE_MS
    await read()
    while (isLate() && !closed && clock.now() < until) {
      await new Promise<void>((resolve) => clock.after(FOLLOW_MS, resolve))
      await read()
    }
    if (isLate()) givenUpAt = clock.now()
  }

  async function follow(): Promise<void> {
    const askedAt = momentOf(clock)
    try {
      const answer = await redis.run(FOLLOW, keys.slice(0, 1), [followed.number, followed.entry])
      const [same, ...rest] = answer as (string | number)[]
      const there = learn(rest)
      const lost = same === 1 ? [] : list.entries().filter(({ entry }) => !there.has(entry))
      const missing = [...lost, ...[...unwritten].map(([entry, overMs]) => ({ entry, overMs }))]
      if (missing.length > 0) await write(missing)
      readAt = askedAt
      givenUpAt = -Infinity
      warnedOfReading = false
    } catch (cause) {
      problem = cause
      if (isGivenUp()) givenUpAt = clock.now()
    }
    if (askedAt.now < tidyAt) return
    list.forget(clock.date())
    tidyAt = askedAt.now + TIDY_MS
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
    while (readAt === NEVER && !closed) await caughtUp()
  }

  function close(): Promise<void> {
    closed = true
    cancel()
    redis.close()
    return Promise.resolve()
  }
}

/** @throws {TypeError} naming what must be a text: `undefined` would be the name of nobody, and revoke nothing */
function needText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw optionError(`${name} must be a text; received ${shown(value)}`)
}

/** A moment in whole seconds. @throws {RangeError} */
function moment(name: string, sec: number): number {
  if (sec >= 0 && sec <= LATEST_SEC) return Math.floor(sec)
  throw optionError(`${name} is no time; received ${shown(sec)}`, RangeError)
}

/** The server answers and refuses the write: a right is missing, or it is a replica. Reads report an outage. */
function isRefusedWrite(err: unknown): boolean {
  if (err instanceof RedisUnavailableError) return err.isReply || err.code === 'READONLY'
  return (err as Error).name === 'ReplyError'
}

function reason(problem: unknown): string {
  return problem instanceof Error ? problem.message : 'it was not read yet'
}

// Names of subjects in Redis (keepSubjects) and keyed hashes in place of plain ones (hashKey).
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createHash, createHmac } from 'node:crypto'
import { inspect } from 'node:util'
import { type ThrottleStore, redisStore, type RedisStoreOptions } from '../../../lib/index'
import { shortName } from '../../../lib/throttle/redis/record'
import { redisOfSuite } from '../../support/redis'
import { throttledApp } from '../../support/throttled-app'
import { assertIs, atLeast, atMost, above, until } from '../../support/until'
import { found } from '../../../lib/top/view'
import { redisWindows } from '../../../lib/inspect/redis-windows'
import { keyedDigest } from '../../../lib/throttle/budget/subjects'

/** A process: `spend(who)` charges a second. */
async function start(t: TestContext, store: ThrottleStore) {
  const { throttled, ask } = await throttledApp(t, { store, windowMs: 86_400_000 })
  return { spend: (who: string) => ask(who, 1_000), flush: () => throttled.flush() }
}

describe('redisStore({ keepSubjects })', () => {
  const own = redisOfSuite()
  const store = (prefix: string, keepSubjects?: boolean) =>
    redisStore(own.redis, { prefix, ...(keepSubjects !== undefined && { keepSubjects }) })
  const keys = (prefix: string) => own.redis.keys(`${prefix}w4:*`)
  /** What field `n` of each window says; undefined where there is none. */
  const namesIn = async (prefix: string) =>
    Promise.all((await keys(prefix)).map((key) => own.redis.hget(key, 'n').then((name) => name ?? undefined)))

  it('true: keeps the text in the hash that expires with the window, and counts it as no process', async (t) => {
    const { spend } = await start(t, store('on:', true))
    await spend('user:ada')
    await until(async () => (await namesIn('on:'))[0], 'user:ada')
    const [key = ''] = await keys('on:')
    assert.equal((await own.redis.hlen(key)) - 2, 1, 'sums, the name and one process')
    const ttl = await own.redis.pttl(key)
    assertIs(ttl, above(0))
    assertIs(ttl, atMost(86_400_000))
  })

  it('false or left out: Redis never sees the text', async (t) => {
    for (const [prefix, keepSubjects] of [
      ['off:', false],
      ['default:', undefined],
    ] as const) {
      const seen: string[] = []
      const monitor = await own.redis.monitor()
      monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')))
      const { spend, flush } = await start(t, store(prefix, keepSubjects))
      await spend('user:ada')
      await until(async () => {
        await flush()
        return (await keys(prefix)).length === 1
      })
      await until(() => seen.some((line) => line.includes(`${prefix}w4:`)))
      monitor.disconnect()
      assert.deepEqual(await namesIn(prefix), [undefined])
      assert.equal(seen.join('\n').includes('ada'), false)
    }
  })

  it('true: names again what was evicted, and what a process without names had begun', async (t) => {
    const silent = await start(t, store('again:', false))
    await silent.spend('user:ada')
    await until(async () => (await keys('again:')).length, 1)
    const { spend } = await start(t, store('again:', true))
    await spend('user:ada')
    await until(async () => (await namesIn('again:'))[0], 'user:ada')
    await own.redis.del(...(await keys('again:')))
    await until(async () => {
      await spend('user:ada')
      return (await namesIn('again:'))[0] === 'user:ada'
    })
  })

  it('true: the text travels with the first report of a window only, in the same command', async (t) => {
    const seen: string[][] = []
    const monitor = await own.redis.monitor()
    t.after(() => monitor.disconnect())
    monitor.on('monitor', (_time: string, args: string[]) => {
      if (/^eval/i.test(args[0] ?? '') && args[3]?.startsWith('once:w4:')) seen.push(args)
    })
    const { spend, flush } = await start(t, store('once:', true))
    for (let i = 0; i < 4; i++) {
      const before = seen.length
      await spend('user:ada')
      await flush()
      await until(() => seen.length, above(before))
    }
    const named = seen.map((args) => args.includes('user:ada'))
    assert.equal(named[0], true)
    assert.equal(named.at(-1), false)
  })

  it('true: each subject of a command with many reports has its own name', async (t) => {
    const who = Array.from({ length: 20 }, (_, i) => `user:${i}`)
    const { spend } = await start(t, store('many:', true))
    await Promise.all(who.map(spend))
    await until(async () => (await namesIn('many:')).sort(), who.sort())
  })
})

describe('shortName()', () => {
  it('leaves a short subject as it is', () => {
    for (const subject of ['user:ada', 'address:203.0.113.9', 'user:é☕', 'x'.repeat(64)])
      assert.equal(shortName(subject), subject)
  })

  it('keeps the beginning and the end of a long one, in 64 bytes and whole characters', () => {
    const tenant = 'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0'
    const long = shortName(`user:74:${tenant}:6f1f2c1e-7b0c-4d6e-9a57-3c1d8e2b4a90`)
    assert.match(long, /^user:74:https:\/\/log.*\.\.\..*6f1f2c1e-7b0c-4d6e-9a57-3c1d8e2b4a90$/)
    for (const subject of [long, '☕'.repeat(500), `a${'é'.repeat(99)}`, '\u{1f600}'.repeat(40)]) {
      const name = shortName(subject)
      assertIs(Buffer.byteLength(name), atMost(64), name)
      assert.doesNotMatch(name, /\ufffd/)
      assert.equal(shortName(name), name)
    }
  })

  it('replaces what a terminal obeys, hides or turns round, and half of a character', () => {
    for (const c of ['\0', '\n', '\u001b', '\u009b', '\u202e', '\u2066', '\u200b', '\u2028', '\ud800'])
      assert.equal(shortName(`a${c}b`), 'a\ufffdb')
  })
})

const KEY = 'a key of 32 bytes or more, from the environment'

describe('redisStore({ hashKey })', () => {
  const own = redisOfSuite()

  /** A process whose users pay by the field X-User; each request charges a second. */
  async function start(t: TestContext, options: RedisStoreOptions) {
    const { throttled, ask } = await throttledApp(t, { store: redisStore(own.redis, options), windowMs: 86_400_000 })
    const usedMs = async (user: string) => Math.round((await throttled.usage(user))[0]?.spentMs ?? -1)
    return { spend: (user: string) => ask(user, 1_000), usedMs, throttled }
  }
  const idsUnder = async (prefix: string) =>
    (await own.redis.keys(`${prefix}w4:*`)).map((key) => /\{(.*?)\}/.exec(key)?.[1])

  it('names a window by a hash that cannot be found without the key', async (t) => {
    const subject = 'address:203.0.113.9'
    const bytes = Buffer.from(subject, 'utf16le')
    const plain = createHash('sha256').update(bytes).digest('base64url').slice(0, 24)
    const keyed = createHmac('sha256', KEY).update(bytes).digest('base64url').slice(0, 24)
    for (const [prefix, options, id] of [
      ['unkeyed:', {}, plain],
      ['keyed:', { hashKey: KEY }, keyed],
      ['bytes:', { hashKey: Buffer.from(KEY) }, keyed],
    ] as const) {
      const { spend } = await start(t, { prefix, ...options })
      await spend(subject)
      await until(async () => (await idsUnder(prefix)).length, above(0))
      assert.deepEqual(await idsUnder(prefix), [id])
    }
  })

  it('shares a budget between processes with the same key, and with no others', async (t) => {
    const options = { prefix: 'shared:', hashKey: KEY }
    const [one, two, other] = [
      await start(t, options),
      await start(t, options),
      await start(t, { ...options, hashKey: `another ${KEY}` }),
    ]
    await one.spend('user:ada')
    await until(() => two.usedMs('user:ada'), atLeast(1_000))
    assert.equal(await other.usedMs('user:ada'), 0)
    await two.throttled.reset('user:ada')
    await until(() => one.usedMs('user:ada'), 0)
  })

  it('lets `top` find a subject by the key', async (t) => {
    const { spend } = await start(t, { prefix: 'top:', hashKey: KEY })
    await spend('user:ada')
    const windows = await redisWindows(own.redis, 'top:')
    t.after(() => windows.close())
    await until(async () => (await windows.read()).windows.length, above(0))
    assert.deepEqual(found((await windows.read()).windows, 'user:ada'), [])
    assert.equal(found((await windows.read()).windows, 'user:ada', keyedDigest(KEY))[0]?.name, 'user:ada')
  })

  it('is shown nowhere', () => {
    assert.doesNotMatch(
      inspect(redisStore('redis://localhost:1', { hashKey: KEY }), { depth: 9 }),
      /a key of 32|61 20 6b 65 79/,
    )
  })
})

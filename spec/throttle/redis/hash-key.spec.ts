import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { type TestContext, describe, it } from 'node:test'
import { inspect } from 'node:util'
import express from 'express'
import { type RedisStoreOptions, redisStore, throttle } from '../../../lib/index'
import { found } from '../../../lib/top/view'
import { redisWindows } from '../../../lib/inspect/redis-windows'
import { keyedDigest } from '../../../lib/throttle/subject-digest'
import { redisOfSuite } from '../../support/redis'
import { listen } from '../../support/serve'
import { until } from '../../support/until'

const KEY = 'a key of 32 bytes or more, from the environment'

describe('redisStore({ hashKey })', () => {
  const own = redisOfSuite()

  /** A process whose users pay by the field X-User; each request charges a second. */
  async function start(t: TestContext, options: RedisStoreOptions) {
    const throttled = throttle({
      store: redisStore(own.redis, options),
      windowMs: 86_400_000,
      subject: (req) => String(req.get('X-User')),
    })
    const app = express().use(throttled, (req, res) => {
      req.throttle?.charge(1_000)
      res.end()
    })
    const { get, close } = await listen(app)
    t.after(async () => {
      await close()
      await throttled.close()
    })
    await throttled.ready()
    const spend = (user: string) => get('/', { 'X-User': user })
    const usedMs = async (user: string) => Math.round((await throttled.usage(user))[0]?.spentMs ?? -1)
    return { spend, usedMs, throttled }
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
      await until(async () => (await idsUnder(prefix)).length > 0)
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
    await until(async () => (await two.usedMs('user:ada')) >= 1_000)
    assert.equal(await other.usedMs('user:ada'), 0)
    await two.throttled.reset('user:ada')
    await until(async () => (await one.usedMs('user:ada')) === 0)
  })

  it('lets `top` find a subject by the key', async (t) => {
    const { spend } = await start(t, { prefix: 'top:', hashKey: KEY })
    await spend('user:ada')
    const windows = await redisWindows(own.redis, 'top:')
    t.after(() => windows.close())
    await until(async () => (await windows.read()).windows.length > 0)
    assert.deepEqual(found((await windows.read()).windows, 'user:ada'), [])
    assert.equal(found((await windows.read()).windows, 'user:ada', keyedDigest(KEY))[0]?.name, 'user:ada')
  })

  it('is checked, and shown nowhere', () => {
    const store = (hashKey: unknown) => redisStore('redis://localhost:1', { hashKey } as RedisStoreOptions)
    for (const hashKey of ['too short', Buffer.alloc(31)])
      assert.throws(() => store(hashKey), {
        name: 'RangeError',
        message: /^hashKey must have 32 bytes or more; received \d+ /,
      })
    for (const hashKey of [5, null, true])
      assert.throws(() => store(hashKey), { name: 'TypeError', message: /^hashKey must be a text or bytes/ })
    assert.doesNotMatch(inspect(store(KEY), { depth: 9 }), /a key of 32|61 20 6b 65 79/)
  })
})

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type RedisStoreOptions, type ThrottleOptions, redisStore, throttle } from '../../../lib/index'
import { databaseOfSuite } from '../../support/redis'
import { until } from '../../support/until'
import { insideOf } from '../../../lib/throttle/store/store'

describe('throttles of two apps over one Redis', { concurrency: true }, () => {
  const own = databaseOfSuite()

  /** What is warned of until the second of two apps with these terms has heard the first. */
  async function warned(t: TestContext, name: string, ...apps: (ThrottleOptions & RedisStoreOptions)[]) {
    const said: string[] = []
    const heard = ({ message }: Error) => message.includes(`'${name}'`) && said.push(message)
    process.on('warning', heard)
    t.after(() => process.off('warning', heard))
    for (const { prefix, ...terms } of apps) {
      const store = redisStore(own.url, { prefix })
      const beat = t.mock.method(insideOf(store).serverOf(''), 'beat')
      const throttled = throttle({ name, limitMs: 1_000, windowMs: 60_000, ...terms, store })
      t.after(() => throttled.close())
      await throttled.ready()
      const beats = beat.mock.callCount()
      if (said.length === 0) await until(() => beat.mock.callCount() > beats)
    }
    return said
  }

  const OTHER: [string, ThrottleOptions, RegExp][] = [
    ['limit', { limitMs: 2_000 }, /this one 2000 ms in 60000 ms, another one 1000 ms in 60000 ms/],
    ['length', { windowMs: 30_000 }, /this one 1000 ms in 30000 ms, another one 1000 ms in 60000 ms/],
    [
      'carryOvershoot',
      { carryOvershoot: true },
      /this one 1000 ms in 60000 ms with carryOvershoot, another one 1000 ms in 60000 ms\./,
    ],
    ['limit of a request', { limitMs: () => 5 }, /this one a limit by request in 60000 ms, another one 1000 ms/],
  ]
  for (const [what, terms, says] of OTHER)
    it(`warns of two windows of one name with another ${what}, with both remedies`, async (t) => {
      const said = await warned(t, `other ${what}`, {}, terms)
      assert.match(said[0] ?? '', says)
      assert.match(said[0] ?? '', /another prefix \(redisStore\(client, \{ prefix \}\)\) or its window another name/)
    })

  const SAME: [string, ThrottleOptions & RedisStoreOptions][] = [
    ['equal terms', {}],
    ['another prefix', { prefix: 'other:', limitMs: 2_000 }],
    ['another subject and outage', { onOutage: 'closed', subject: () => 'ada' }],
  ]
  for (const [what, terms] of SAME)
    it(`says nothing of ${what}`, async (t) => assert.deepEqual(await warned(t, `same ${what}`, {}, terms), []))

  it('says nothing of terms that its own process had before', async (t) => {
    const store = redisStore(own.url)
    const keeper = throttle({ name: 'keeper', store })
    t.after(() => keeper.close())
    const beat = t.mock.method(insideOf(store).serverOf(''), 'beat')
    const said: string[] = []
    const heard = ({ message }: Error) => message.includes("'changed'") && said.push(message)
    process.on('warning', heard)
    t.after(() => process.off('warning', heard))
    for (const limitMs of [1_000, 2_000]) {
      const throttled = throttle({ name: 'changed', limitMs, store })
      await throttled.ready()
      const beats = beat.mock.callCount()
      await until(() => beat.mock.callCount() > beats + 1)
      await throttled.close()
    }
    assert.deepEqual(said, [])
  })
})

// Memory that a subject takes in Redis.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Redis } from 'ioredis'
import { type ThrottleStore, redisStore } from '../../../lib/index'
import type { Report } from '../../../lib/throttle/budget/report'
import { subjectId } from '../../../lib/throttle/budget/subjects'
import { startRedis } from '../../support/redis'
import { reportFor } from './report'
import { assertIs, atMost, above, until } from '../../support/until'
import { insideOf } from '../../../lib/throttle/store/store'

const WARM_UP = 10_000
const SUBJECTS = 30_000
const WINDOW_US = 60_000_000

/** On a busy machine a command may not be answered; sent again it changes nothing. */
async function published(store: ThrottleStore, process: string, reports: readonly Report[]): Promise<void> {
  await until(() =>
    insideOf(store)
      .serverOf('')
      .report(process, reports)
      .then(
        () => true,
        () => false,
      ),
  )
}

it('redisStore() takes at most 400 bytes of a subject at rest and a window with two processes, all of which expire', async (t) => {
  const redis = await startRedis()
  const client = new Redis(redis.port)
  const stores = [redisStore(client), redisStore(client)]
  t.after(async () => {
    for (const store of stores) await store.close()
    client.disconnect()
    await redis.stop()
  })
  for (const store of stores) {
    await until(() =>
      insideOf(store)
        .serverOf('')
        .beat()
        .then(
          () => true,
          () => false,
        ),
    )
  }
  const used = async () => {
    const info = await client.info('memory')
    const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])
    return figure('used_memory') - figure('mem_clients_normal')
  }
  const figures = { used: 123_456, limit: 18_000_000 }
  let before = NaN
  const [seconds, micros] = (await client.time()).map(Number) as [number, number]
  const start = seconds * 1e6 + micros - 1e6
  for (let i = 0; i < WARM_UP + SUBJECTS; i += 20) {
    if (i === WARM_UP) before = await used() // the script and what its machine keeps are there by now
    const reports = Array.from({ length: 20 }, (_, k): Report => {
      const { id } = subjectId(`address:${i + k}`, WINDOW_US)
      const seq = 100_000 + i + k
      return reportFor({ ...{ id, starts: start, ends: start + WINDOW_US, seq }, ...figures })
    })
    await Promise.all(stores.map((store, n) => published(store, `process${n}`, reports)))
  }
  const each = ((await used()) - before) / SUBJECTS
  assertIs(each, above(100), `${each.toFixed(0)} bytes`)
  assertIs(each, atMost(400), `${each.toFixed(0)} bytes`)
  const keys = await client.dbsize()
  assert.equal(keys, WARM_UP + SUBJECTS + 2) // the canary, and who lives
  assert.match(await client.info('keyspace'), new RegExp(`keys=${keys},expires=${keys}`))
})

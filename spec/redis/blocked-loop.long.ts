import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Redis } from 'ioredis'
import { startRedis } from '../support/redis'
import type { Blocking, Said } from './workers/blocking-api'
import { programOf } from '../support/typescript'

const WORKERS = 10
const BLOCKS = 10
/** Half of the deadline of a decision: where Redis itself takes longer, an outage is no false alarm. */
const SLOW_MS = 35

/** Says when Redis itself was slow, for instance since the machine had no processor for it. */
async function watchSlowness(port: number) {
  const client = new Redis(port)
  await once(client, 'ready')
  const slow: { from: number; to: number }[] = []
  let asking = true
  const done = (async () => {
    while (asking) {
      const from = Date.now()
      await client.ping()
      const to = Date.now()
      if (to - from > SLOW_MS) slow.push({ from, to })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  return {
    wasSlow: (at: number) => slow.some(({ from, to }) => at >= from - 100 && at <= to + 1_200),
    stop: async () => {
      asking = false
      await done
      client.disconnect()
    },
  }
}

it('handlers that block for 500, 700 and 1,000 ms beside a healthy Redis announce no outage in 100 blocks', async (t) => {
  const redis = await startRedis()
  const { wasSlow, stop } = await watchSlowness(redis.port)
  t.after(async () => {
    await stop()
    await redis.stop()
  })
  const said: Said[] = []
  await Promise.all(
    Array.from({ length: WORKERS }, async (_, i) => {
      const workerData: Blocking = {
        redis: `redis://127.0.0.1:${redis.port}`,
        isAsked: i % 2 === 0,
        blocks: BLOCKS,
      }
      const worker = new Worker(programOf(__dirname, 'workers/blocking-api'), { workerData })
      worker.on('message', (one: Said) => said.push(one))
      await once(worker, 'exit')
    }),
  )
  const of = (kind: Said['kind']) => said.filter((one) => one.kind === kind)
  assert.equal(of('done').length, WORKERS)
  assert.equal(of('block').length, WORKERS * BLOCKS)
  const alarms = of('outage').filter(({ at }) => !wasSlow(at))
  assert.deepEqual(
    alarms.map(({ cause }) => cause),
    [],
  )
})

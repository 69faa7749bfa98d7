// A primary that Sentinel replaces without its last writes: nothing is lost or charged twice.
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startSentinelGroup } from '../redis/sentinel'
import { startApis } from './apis'
import { LONG_WINDOW_MS, totals } from './shared-total'
import { watchStalls } from './stalls'
import { FULL } from './table'
import { type Waits, judgeWaits, trial } from './trial'

const OPTIONS = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS }
const THROTTLES = { shared: OPTIONS, asking: OPTIONS }

describe('throttle() behind Sentinel', { timeout: 600_000 }, () => {
  const waits: Waits[] = []
  for (const mount of FULL ? ['shared', 'asking', 'shared', 'asking'] : ['shared']) {
    it(`loses nothing and charges nothing twice: a primary replaced by its replica without the last writes, ${mount}`, async (t) => {
      const group = await startSentinelGroup()
      t.after(() => group.stop())
      const { sentinels, name } = group
      const place = { sentinels: [...sentinels], name }
      const admin = new Redis({ ...place, maxRetriesPerRequest: 0, retryStrategy: () => 50 }) // its pauses are not what is judged
      admin.on('error', () => undefined)
      t.after(() => admin.disconnect())
      const stalls = await watchStalls(t)
      const apis = await startApis(t, 4, { redis: place, throttles: THROTTLES })
      const waited = await trial(
        t,
        { apis, total: totals(admin, mount), stalls, mount },
        {
          name: 'Sentinel: failover, last writes lost',
          async break(witness, ask) {
            await group.cutReplication()
            for (let i = 0; i < 5; i++) await ask(witness)
            await sleep(300) // published, to a primary that will not pass it on
          },
          last: () => group.failover(),
          mend: () => undefined,
        },
      )
      waits.push(waited)
    })
  }

  it('keeps 999 of 1,000 requests waiting for no more than 100 ms', (t) => judgeWaits(t, waits))
})

// npm run bench:sync: what one sync costs Redis, by the processes that live and have lived in the
// window. Microseconds by SLOWLOG, the median of commands that bring twenty syncs each; bytes by MEMORY USAGE.
import { Redis } from 'ioredis'
import { redisStore } from '../lib/index'
import type { SyncCommand } from '../lib/throttle/sync/sync-protocol'
import { startRedis } from '../spec/support/redis'
import { syncCommand } from '../spec/support/sync-command'
import { until } from '../spec/support/until'

const SYNCS = 4_000
/** Syncs that go to Redis in one command, as those of so many subjects would. */
const AT_ONCE = 20
/** Processes that live, that were killed and that were closed. */
const CASES = [
  ...[1, 8, 20, 100, 600].map((living) => ({ living, killed: 0, closed: 0 })),
  ...[40, 6_000].flatMap((ended) => [
    { living: 8, killed: ended, closed: 0 },
    { living: 8, killed: 0, closed: ended },
  ]),
]

async function main(): Promise<void> {
  const server = await startRedis()
  const admin = new Redis(server.port)
  const store = redisStore(`redis://127.0.0.1:${server.port}`)
  const shard = store.shardOf('')
  await until(() => shard.beat().catch(() => undefined))
  const starts = Date.now() * 1_000 - 10_000_000
  const ends = starts + 86_400_000_000
  let seq = 0

  console.log('| living | killed | closed | µs a sync | 99 of 100 commands, µs | bytes |')
  console.log('| -----: | -----: | -----: | --------: | ---------------------: | ----: |')
  for (const [number, { living, killed, closed }] of CASES.entries()) {
    const told = new Map<string, number>()
    const sync = async (process: string, more: Partial<SyncCommand> = {}) => {
      const stored = told.get(process) ?? 0
      told.set(process, ++seq)
      const figures = { spent: 123_456, hold: 50_000, running: 2, slice: 20_000, unit: 10_000, limit: 1e12 }
      await shard.sync(
        'bench',
        syncCommand({ id: 's', number, starts, ends, process, seq, stored, ...figures, ...more }),
      )
    }
    const all = async (n: number, one: (i: number) => Promise<void>) => {
      for (let i = 0; i < n; i += AT_ONCE) {
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, n - i) }, (_, k) => one(i + k)))
      }
    }
    await all(killed, (i) => sync(`k${String(i).padStart(7, '0')}`))
    await all(closed, async (i) => {
      await sync(`c${String(i).padStart(7, '0')}`)
      await sync(`c${String(i).padStart(7, '0')}`, { closing: true })
    })
    await all(living, (i) => sync(`l${String(i).padStart(7, '0')}`))
    await admin.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100000')
    await admin.slowlog('RESET')
    await all(SYNCS, (i) => sync(`l${String(i % living).padStart(7, '0')}`))
    const slow = (await admin.slowlog('GET', 100_000)) as [number, number, number, string[]][]
    const scripts = slow.filter(([, , , [name]]) => name?.toLowerCase() === 'evalsha').map(([, , us]) => us)
    scripts.sort((a, b) => a - b)
    const at = (share: number) => scripts[Math.floor(share * (scripts.length - 1))] ?? NaN
    const bytes = await admin.memory('USAGE', `tollgate:w2:{s}:${number}:bench`, 'SAMPLES', 0)
    const cells = [living, killed, closed, (at(0.5) / AT_ONCE).toFixed(1), at(0.99), bytes ?? 0]
    console.log(`| ${cells.join(' | ')} |`)
  }
  await store.close()
  admin.disconnect()
  await server.stop()
}

void main()

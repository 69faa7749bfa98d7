// scripts/test.mjs gets libfaketime: LIBFAKETIME is the path of the library.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { get } from '../support/serve'
import { startRedis, startServer } from '../support/redis'
import { assertIs, below, until } from '../support/until'
import { type Owner, startApis } from './apis'
import { LONG_WINDOW_MS, totals } from './shared-total'
import { watchStalls } from './stalls'
import { trial } from './trial'

const HOUR_MS = 3_600_000
const OPTIONS = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS }
const THROTTLES = { shared: OPTIONS, asking: OPTIONS }

/** A wall clock that can be set, for a process started with this environment. Its monotonic clock goes on. */
function wallClock(owner: Owner): { env: NodeJS.ProcessEnv; set(offset: string): void } {
  const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-clock-'))
  owner.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'offset')
  const set = (offset: string) => writeFileSync(file, `${offset}\n`)
  set('+0')
  const env = {
    // libc once more, so that malloc comes from it: jemalloc asks for the time before libfaketime is ready to say it.
    ...{ LD_PRELOAD: `${process.env.LIBFAKETIME}:libc.so.6`, FAKETIME_TIMESTAMP_FILE: file },
    ...{ FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' },
  }
  return { env, set }
}

/** Why this server's clock cannot be set; undefined where it can. `scripts/services.mjs` writes such a script. */
function unsettable(): string | undefined {
  const server = process.env.REDIS_SERVER ?? ''
  const isScript = server.includes('/') && readFileSync(server).toString('latin1', 0, 2) === '#!'
  return isScript ? 'libfaketime cannot be loaded into a server that brings a C library of its own' : undefined
}

describe('throttle() where a wall clock is set', { timeout: 600_000 }, () => {
  for (const offset of ['+1h', '-1h']) {
    const ahead = offset === '+1h' ? HOUR_MS : -HOUR_MS
    for (const mount of ['shared', 'asking']) {
      it(`loses nothing and charges nothing twice: one process, ${offset}, ${mount}`, async (t) => {
        const redis = await startRedis()
        t.after(() => redis.stop())
        const admin = new Redis(redis.port)
        t.after(() => admin.disconnect())
        const place = { redis: `redis://127.0.0.1:${redis.port}`, throttles: THROTTLES }
        const clock = wallClock(t)
        const [set] = await startApis(t, 1, { ...place, env: clock.env })
        const apis = [...(await startApis(t, 3, place)), set as NonNullable<typeof set>]
        const says = async () => Number((await get(`http://127.0.0.1:${set?.port}/clock`)).body) - Date.now()
        assertIs(Math.abs(await says()), below(1_000))
        await trial(
          t,
          { apis, total: totals(admin, mount), stalls: await watchStalls(t), mount },
          {
            name: `wall clock of one process set by ${offset}`,
            async break() {
              clock.set(offset)
              await until(async () => Math.abs((await says()) - ahead), below(1_000))
            },
            last: () => sleep(3_000),
            mend: () => clock.set('+0'),
          },
        )
      })

      it(
        `loses nothing and charges nothing twice: redis-server, ${offset}, ${mount}`,
        { skip: unsettable() },
        async (t) => {
          const clock = wallClock(t)
          const usual = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
          const args = (dir: string, port: number) => ['--port', String(port), ...usual, '--dir', dir]
          const redis = await startServer(args, { env: clock.env })
          const { port } = redis
          t.after(() => redis.stop())
          const admin = new Redis(port)
          t.after(() => admin.disconnect())
          const says = async () => Number((await admin.time())[0]) * 1_000 - Date.now()
          assertIs(Math.abs(await says()), below(2_000))
          const apis = await startApis(t, 4, { redis: `redis://127.0.0.1:${port}`, throttles: THROTTLES })
          await trial(
            t,
            { apis, total: totals(admin, mount), stalls: await watchStalls(t), mount },
            {
              name: `wall clock of redis-server set by ${offset}`,
              async break() {
                clock.set(offset)
                await until(async () => Math.abs((await says()) - ahead), below(2_000))
              },
              last: () => sleep(3_000),
              mend: () => clock.set('+0'),
            },
          )
        },
      )
    }
  }
})

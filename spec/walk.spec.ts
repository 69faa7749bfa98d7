import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Session } from 'node:inspector/promises'
import { createRequire } from 'node:module'
import { join, relative, sep } from 'node:path'
import { type TestContext, it } from 'node:test'
import express from 'express'
import type * as tollgate from '../lib/index'
import type * as testing from '../lib/testing/index'
import { listen } from './support/serve'
import { startRedis } from './support/redis'
import { until } from './support/until'

/** As it is published: as specs load the sources, they have a function more for everything that is imported. */
const DIST = join(process.cwd(), 'dist')
const load = createRequire(__filename)
const { redisStore, requireBearer, throttle } = load(DIST) as typeof tollgate
const { devIssuer, manualClock } = load(join(DIST, 'testing')) as typeof testing
const DESIGN = readFileSync(join(process.cwd(), 'docs/design.md'), 'utf8')
/** What a test brings, a workaround that Node 24 does without, and a timer that is no request's and never stands still. */
const NOT_COUNTED = ['testing/manual-clock.ts', 'http/hidden-classes.ts', 'redis/silence.ts']

/** The files that docs/design.md names, in its first table and in its second. */
const [inMemory, asked] = ['The next table lists the files', 'A request that asks the store passes'].map((begins) => {
  const [, table = ''] = DESIGN.slice(DESIGN.indexOf(begins)).split('\n\n')
  return [...table.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => file as string)
}) as [string[], string[]]

/** An app whose time stands still but when it is told to go on, so that no timer adds files to a request's. */
async function walked(t: TestContext, store?: tollgate.ThrottleStore) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const dev = devIssuer()
  const throttled = throttle({
    limitMs: 60_000,
    windowMs: 86_400_000,
    clock,
    ...(store && { store }),
  })
  const app = express()
  app.use(requireBearer(dev.options), throttled)
  app.get('/', (_req, res) => void res.json({}))
  const { get, close } = await listen(app)
  const turns = setInterval(() => clock.advance(0), 1) // what waits for the end of a turn goes on
  t.after(async () => {
    await close()
    await throttled.close()
    clearInterval(turns)
  })
  const token = dev.token('ada')
  const request = async () => assert.equal((await get('/', { Authorization: `Bearer ${token}` })).status, 200)
  return { request, throttled, clock }
}

/** The files of `lib` in which something ran meanwhile. */
async function touched(what: () => Promise<void>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await what()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return result
    .filter(({ functions }) => functions.some(({ ranges: [range] }) => (range?.count ?? 0) > 0))
    .map(({ url }) =>
      relative(DIST, url.replace(/^file:\/\//, ''))
        .split(sep)
        .join('/'),
    )
    .map((file) => file.replace(/\.js$/, '.ts'))
    .filter((file) => !file.startsWith('..') && !NOT_COUNTED.includes(file))
    .sort()
}

it('one request passes the files that docs/design.md says', async (t) => {
  const { request } = await walked(t)
  await request()
  assert.deepEqual(await touched(request), [...inMemory].sort())
  assert.ok(inMemory.length <= 29)
})

it('one that asks Redis passes those files and a few more', async (t) => {
  const redis = await startRedis()
  const { request, throttled, clock } = await walked(t, redisStore(`redis://127.0.0.1:${redis.port}`))
  let synced = 0
  const heard = () => void synced++
  subscribe('express-tollgate:synced', heard)
  t.after(async () => {
    unsubscribe('express-tollgate:synced', heard)
    await redis.stop()
  })
  await until(async () => (await throttled.usage('ada'))[0]?.degraded === false)
  await request()
  await until(() => synced > 0)
  clock.advance(10)
  assert.deepEqual(await touched(request), [...inMemory, ...asked].sort())
  assert.ok(inMemory.length + asked.length <= 41)
})

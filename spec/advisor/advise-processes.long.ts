import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, it } from 'node:test'
import { type Advice, redisStore, throttle } from '../../lib'
import { startRedis } from '../support/redis'
import { TYPESCRIPT, programOf } from '../support/typescript'
import { assertIs, atMost, below, above, until } from '../support/until'
import { Random } from '../throttle/simulation/random'
import type { SpenderTask } from './spender'

const SUBJECTS = Number(process.env.ADVISE_SUBJECTS ?? 3_000)
/** A day: hardly any window ends meanwhile. */
const TERMS = { limitMs: 100_000, windowMs: 86_400_000, dryRun: true }
/** Where buckets begin, so that shares are exact, whatever is spread within a bucket. */
const LIMITS_MS = [512, 1_024, 4_096, 8_192]
const BUCKET = 2 ** (1 / 8)

async function startSpender(t: TestContext, redis: string) {
  const child: ChildProcess = fork(programOf(__dirname, 'spender'), [redis, JSON.stringify(TERMS)], {
    execArgv: TYPESCRIPT,
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return async (task: SpenderTask) => {
    child.send(task)
    const [charged] = (await once(child, 'message')) as [[string, number][]]
    return charged
  }
}

/** Log-normal, with a median of 900 ms, in two or three parts that different processes are charged. */
function parts(r: Random): (readonly [process: number, subject: string, ms: number])[] {
  return Array.from({ length: SUBJECTS }, (_, i) => {
    const normal = Math.sqrt(-2 * Math.log(1 - r.fraction())) * Math.cos(2 * Math.PI * r.fraction())
    const ms = Math.min(60_000, 900 * Math.exp(1.25 * normal))
    const first = r.int(0, 3)
    const shares = r.chance(0.5) ? [0.7, 0.3] : [0.2, 0.5, 0.3]
    return shares.map((share, k) => [(first + k) % 4, `user-${i}`, Math.ceil(ms * share)] as const)
  }).flat()
}

it(`throttled.advise() over four processes and Redis says what ${SUBJECTS} subjects were charged in all`, async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const url = `redis://127.0.0.1:${redis.port}`
  const spenders = await Promise.all(Array.from({ length: 4 }, () => startSpender(t, url)))
  const all = parts(new Random(1))
  const tasks = spenders.map((_, p) => all.filter(([of]) => of === p).map(([, who, ms]) => [who, ms] as const))
  await Promise.all(spenders.map((ask, p) => ask({ spend: tasks[p] ?? [] })))

  const reader = throttle({ ...TERMS, store: redisStore(url) })
  t.after(() => reader.close())
  await reader.ready()
  const exact = new Map<string, number>()
  let advice: Advice | undefined
  await until(async () => {
    exact.clear()
    for (const charged of await Promise.all(spenders.map((ask) => ask('publish')))) {
      for (const [who, ms] of charged) exact.set(who, (exact.get(who) ?? 0) + ms)
    }
    ;[advice] = await reader.advise({ hours: 24, limitsMs: LIMITS_MS })
    const total = [...exact.values()].reduce((sum, ms) => sum + ms, 0)
    return Math.abs((advice?.processingMs ?? 0) - total) < total / 1_000
  })

  assert.ok(advice)
  const totals = [...exact.values()].sort((a, b) => a - b)
  assertIs(Math.abs(advice.subjectWindows - SUBJECTS), atMost(1 + SUBJECTS / 2_000), String(advice.subjectWindows))
  const { p50, p90, p99, p999, max } = advice.quantilesMs
  for (const [q, ms] of [
    [0.5, p50],
    [0.9, p90],
    [0.99, p99],
    [0.999, p999],
    [1, max],
  ] as const) {
    const truth = totals[Math.ceil(q * totals.length) - 1] ?? NaN
    t.diagnostic(`p${q * 100}: ${ms} ms, exactly ${truth.toFixed(1)} ms`)
    assertIs(ms, below(truth * BUCKET + 1), `p${q * 100}: ${ms} for ${truth}`)
    assertIs(ms, above(truth / BUCKET - 1), `p${q * 100}: ${ms} for ${truth}`)
  }
  for (const { limitMs, share, timeShare } of advice.limits) {
    const above = totals.filter((ms) => ms > limitMs)
    const exactShare = above.length / totals.length
    const overMs = above.reduce((sum, ms) => sum + ms - limitMs, 0)
    const exactTime = overMs / totals.reduce((sum, ms) => sum + ms, 0)
    const percent = (part: number) => `${(100 * part).toFixed(3)} %`
    t.diagnostic(`${limitMs} ms: ${percent(share)}, exactly ${percent(exactShare)}; time ${percent(timeShare)}, exactly ${percent(exactTime)}`) // prettier-ignore
    assertIs(Math.abs(share - exactShare), atMost(0.001), `${limitMs} ms: ${share} for ${exactShare}`)
    assertIs(Math.abs(timeShare - exactTime), atMost(0.001), `${limitMs} ms: ${timeShare} for ${exactTime} of the time`)
  }
})

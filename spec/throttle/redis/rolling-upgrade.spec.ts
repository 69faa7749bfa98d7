import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { Redis } from 'ioredis'
import { redisStore } from '../../../lib/index'
import { subjectId } from '../../../lib/throttle/window/subject-id'
import { LONG_WINDOW_MS, sharedTotalMs } from '../../chaos/shared-total'
import { startRedis } from '../../support/redis'
import { throttledApp } from '../../support/throttled-app'
import { until } from '../../support/until'

const LIMIT_MS = 2_000
const REQUEST_MS = 50
const USER = 'ada'
const OLD_SYNC = readFileSync(join(__dirname, 'sync-0.1.0.lua'), 'utf8')

/** A process of 0.1.0, as far as Redis hears of it: its requests of one user, each charged at once. */
class OldProcess {
  admitted = 0
  #seq = 0
  #others = 0
  readonly #redis: Redis
  readonly #name: string

  constructor(redis: Redis, name: string) {
    this.#redis = redis
    this.#name = name
  }

  static readonly windowUs = LONG_WINDOW_MS * 1_000

  get key(): string {
    const { id } = subjectId(USER, OldProcess.windowUs)
    return `tollgate:{${id}}:${this.#number}:month`
  }

  get #number(): number {
    return Math.floor((Date.now() * 1_000 + subjectId(USER, OldProcess.windowUs).phase) / OldProcess.windowUs)
  }

  async request(): Promise<boolean> {
    const spent = this.admitted * REQUEST_MS * 1_000
    if (spent + this.#others > LIMIT_MS * 1_000) return false
    this.admitted++
    const { phase } = subjectId(USER, OldProcess.windowUs)
    const start = this.#number * OldProcess.windowUs - phase
    const window = [start, start + OldProcess.windowUs, ++this.#seq]
    const figures = [this.admitted * REQUEST_MS * 1_000, 0, 0, 0, 0, 0, 0, LIMIT_MS * 1_000, 0, 251]
    const commands = JSON.stringify([[...window, ...figures]])
    const [[, others = NaN] = []] = (await this.#redis.eval(OLD_SYNC, 1, this.key, this.#name, commands)) as number[][]
    this.#others = others
    return true
  }
}

it('counts apart from processes of 0.1.0 while they are replaced, and each side lets in one budget', async (t) => {
  const redis = await startRedis()
  const admin = new Redis(redis.port)
  const { ask } = await throttledApp(t, {
    ...{ limitMs: LIMIT_MS, windowMs: LONG_WINDOW_MS, name: 'month', wait: false },
    store: redisStore(`redis://127.0.0.1:${redis.port}`),
  })
  t.after(async () => {
    admin.disconnect()
    await redis.stop()
  })

  const old = [new OldProcess(admin, 'process1'), new OldProcess(admin, 'process2')]
  let admitted = 0
  let refused = 0
  while (refused < 3) {
    await Promise.all(old.map((process) => process.request()))
    const { status } = await ask(USER, REQUEST_MS)
    if (status === 200) admitted++
    else refused++
  }
  const inOld = old.reduce((sum, process) => sum + process.admitted, 0)
  const most = LIMIT_MS / REQUEST_MS + 1
  // Each side lets in its own budget, and no more: twice the limit in all while both run, and a request each.
  assert.ok(inOld >= most - 1 && inOld <= most + 1, `${inOld} in the old processes`)
  // What a request takes by itself is charged as well, and on a busy machine that is not little.
  assert.ok(admitted > most / 2 && admitted <= most, `${admitted} in the new one`)

  // Neither side has touched what the other wrote.
  const key = old[0]?.key as string
  const fields = await admin.hgetall(key)
  assert.deepEqual(Object.keys(fields).sort(), ['process1', 'process2'])
  const inRecord = Object.values(fields).map((figures) => Number(figures.split(':')[1]) / 1_000)
  assert.deepEqual(
    inRecord,
    old.map((process) => process.admitted * REQUEST_MS),
  )
  await until(async () => (await sharedTotalMs(admin, USER, 'month')) >= admitted * REQUEST_MS)
  const charged = await sharedTotalMs(admin, USER, 'month')
  assert.ok(charged < LIMIT_MS + 2 * REQUEST_MS, `${charged} ms: no more than its own requests`)
  for (const each of await admin.keys('*')) assert.ok((await admin.pttl(each)) > 0, each)
})

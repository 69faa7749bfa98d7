// Run by `npm run chaos` alone: real time decides.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Server, startRedis } from '../support/redis'
import { get } from '../support/serve'
import { spawnProgram } from '../support/typescript'
import { until } from '../support/until'
import { ATTACKS, type Attack, Client, beQuick } from '../throttle/adversaries/attacks'
import { promised } from '../throttle/adversaries/promise'

/** Terms as the default ones, scaled down to a window of a second; a request takes as long as the limit is. */
const [LIMIT_MS, WINDOW_MS, WORK_MS] = [300, 1_000, 300]
const WINDOWS = 20
/**
 * What processes do not know of each other yet weighs more in a window that is a 60th of the default one, and real time
 * decides. spec/throttle/adversaries/processes.spec.ts has windows of a minute, in time that is the spec's.
 */
const SLACK = 2
const PROCESSES = 4
/** So many requests an attacker sends at a time, over all processes: more than may run. */
const BURST = 40

describe('throttle() in four processes over Redis gives an attacker what docs/security.md says', () => {
  let redis: Server
  const ends: (() => unknown)[] = []
  const ports: number[] = []
  let got: Record<string, { first: number; average: number }> = {}

  before(async () => {
    redis = await startRedis()
    ports.push(...(await Promise.all(Array.from({ length: PROCESSES }, startApi))))
    await until(async () => (await Promise.all(ports.map((port) => isDegraded(port)))).every((is) => !is))
    const users = Object.entries(ATTACKS).map(([row, [attack]]) => [row, attack as Attack] as const)
    got = Object.fromEntries(
      await Promise.all(users.map(async ([row, attack], i) => [row, await attackFor(`u${i}`, attack)] as const)),
    )
  })
  after(async () => {
    for (const end of ends) await end()
    await redis.stop()
  })

  async function startApi(): Promise<number> {
    const args = { redis: `redis://127.0.0.1:${redis.port}`, workMs: WORK_MS, limitMs: LIMIT_MS, windowMs: WINDOW_MS }
    const child = spawnProgram(__dirname, '../throttle/adversaries/api', args)
    const exit = once(child, 'exit')
    ends.push(() => (child.kill('SIGKILL'), exit))
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    return Number(/^port (\d+)$/m.exec(line.toString())?.[1])
  }
  const url = (port: number) => `http://127.0.0.1:${port}`
  const usage = async (port: number, who: string) =>
    (JSON.parse((await get(`${url(port)}/usage/${who}`)).body) as [{ endsInMs: number; degraded: boolean }])[0]
  const isDegraded = async (port: number) => (await usage(port, 'nobody')).degraded
  const begunBy = async (user: string) => {
    const begun = await Promise.all(ports.map(async (port) => (await get(`${url(port)}/begun`)).body))
    return begun.reduce((sum, body) => sum + ((JSON.parse(body) as Record<string, number>)[user] ?? 0), 0)
  }

  /** In limits: what began in the first window, and on average. */
  async function attackFor(user: string, { tricks, isQuickFirst, isOnNewRoutes }: Attack) {
    const clients: Client[] = []
    const burst = (path: string) => {
      for (let i = 0; i < BURST; i++) {
        const port = ports[i % PROCESSES] as number
        clients.push(new Client(port, path, user, tricks[i % tricks.length] ?? 'slow'))
      }
    }
    let first = 0
    let endsAt = performance.now() + (await usage(ports[0] as number, user)).endsInMs
    for (let window = 0; window < WINDOWS; window++) {
      await sleep(endsAt - performance.now())
      if (window === 1) first = await begunBy(user)
      endsAt += WINDOW_MS
      for (const client of clients.splice(0)) client.destroy()
      const path = isOnNewRoutes ? `/r${window}` : '/r'
      if (isQuickFirst) for (const port of ports) beQuick(url(port) + path, user, tricks)
      await sleep(100)
      burst(path)
      await sleep(400)
      burst(path)
    }
    await sleep(endsAt - performance.now())
    for (const client of clients) client.destroy()
    const limits = (begun: number) => (begun * WORK_MS) / LIMIT_MS
    return { first: limits(first), average: limits(await begunBy(user)) / WINDOWS }
  }

  for (const row of Object.keys(ATTACKS))
    it(row, (t) => {
      const most = promised(row, '18')
      t.diagnostic(JSON.stringify({ got: got[row], most }))
      assert.ok((got[row]?.first ?? Infinity) <= most.first * SLACK)
      assert.ok((got[row]?.average ?? Infinity) <= most.average * SLACK)
    })
})

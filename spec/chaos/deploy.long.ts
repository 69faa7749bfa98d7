import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { page } from '../support/markdown'
import { type Server, freePort, startRedis } from '../support/redis'
import { spawnProgram } from '../support/typescript'
import { assertIs, atLeast, atMost, until } from '../support/until'
import type { DeployedConfig } from './deployed-api'
import { type Nginx, hasNginx, startNginx } from './nginx'

const PROCESSES = 4
const LIMIT_MS = 3_000
/** A folder of an earlier version of the package, built: `OLD_VERSION=… npm run chaos -- deploy`. Default: this one. */
const OLD = process.env.OLD_VERSION ?? join(process.cwd(), 'lib')
/** What README has for SIGTERM. */
const documented = page(process.cwd(), 'README.md').blocks.find(({ text }) => text.includes('SIGTERM'))?.text ?? ''
const lines = documented.slice(documented.indexOf('process.once('))

/** One request, as its client saw it. */
interface Shot {
  readonly user: string
  /** 0: no answer. */
  readonly status: number
  readonly version: string | undefined
  readonly workedMs: number
}

/** Users who ask one request after the other: some as fast as they can, others once in a while. And one with four at once. */
const USERS = [
  ...[1, 2, 3].map((n) => ({ user: `busy-${n}`, atOnce: 1, pauseMs: 0 })),
  ...[1, 2, 3].map((n) => ({ user: `calm-${n}`, atOnce: 1, pauseMs: 700 })),
  { user: 'crowd', atOnce: 4, pauseMs: 0 },
]

function shoot(url: string, user: string, method: string): Promise<Shot> {
  return new Promise((resolve) => {
    const done = (status: number, version?: string, worked = '0') =>
      resolve({ user, status, version, workedMs: Number(worked) })
    const ms = 5 + Math.floor(Math.random() * 30)
    const asked = request(`${url}/work/${ms}`, { method, agent: false, headers: { 'x-user': user } }, (res) => {
      const { 'x-version': version, 'x-worked': worked } = res.headers as Record<string, string | undefined>
      res.resume()
      res.once('end', () => done(res.statusCode ?? 0, version, worked))
      res.once('error', () => done(0))
    })
    asked.once('error', () => done(0)).end()
  })
}

/** All users ask until told to stop. Resolves with everything they saw. */
function load(url: string, methods: readonly string[]) {
  const shots: Shot[] = []
  let isOver = false
  const ask = async (user: string, pauseMs: number) => {
    for (let n = 0; !isOver; n++) {
      const shot = await shoot(url, user, methods[n % methods.length] as string)
      shots.push(shot)
      await sleep(shot.status === 200 ? pauseMs : 100)
    }
  }
  const users = USERS.flatMap(({ user, atOnce, pauseMs }) => Array.from({ length: atOnce }, () => ask(user, pauseMs)))
  const stop = async () => {
    isOver = true
    await Promise.all(users)
    return shots
  }
  return { shots, stop }
}

describe('a rolling deploy of four processes behind nginx, under load', { skip: !hasNginx() && 'no nginx' }, () => {
  let redis: Server
  before(async () => (redis = await startRedis()))
  after(() => redis.stop())

  async function start(t: TestContext, version: 'old' | 'new', port: number) {
    const url = `redis://127.0.0.1:${redis.port}`
    const lib = version === 'old' ? OLD : join(process.cwd(), 'lib')
    const config: DeployedConfig = { redis: url, port, limitMs: LIMIT_MS, lib, version, lines }
    const child = spawnProgram(__dirname, 'deployed-api', config)
    const exit = once(child, 'exit')
    t.after(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const end = async () => {
      child.kill('SIGTERM')
      assert.deepEqual(await exit, [0, null])
    }
    return { port, end }
  }

  async function deploy(
    t: TestContext,
    methods: readonly string[],
    replace: (old: { port: number; end: () => Promise<void> }, nginx: Nginx, ports: number[]) => Promise<void>,
  ) {
    await redis.command('FLUSHALL')
    const ports = await Promise.all(Array.from({ length: PROCESSES }, () => freePort()))
    const olds = await Promise.all(ports.map((port) => start(t, 'old', port)))
    const nginx = await startNginx(t, ports)
    const { shots, stop } = load(nginx.url, methods)
    const isServed = (version: string, times: number) =>
      until(
        () => shots.filter((shot) => shot.version === version && shot.user.startsWith('calm')).length,
        atLeast(times),
      )
    await isServed('old', 3)
    for (const old of olds) await replace(old, nginx, ports)
    const isSpent = (name: string) => shots.some(({ user, status }) => user === name && status === 429)
    await until(() => USERS.every(({ user }) => user.startsWith('calm') || isSpent(user)))
    const before = shots.length
    await until(() => shots.length, atLeast(before + 30))
    judge(t, await stop())
  }

  function judge(t: TestContext, shots: readonly Shot[]) {
    const count = (status: number) => shots.filter((shot) => shot.status === status).length
    const statuses = [...new Set(shots.map(({ status }) => status))].sort()
    t.diagnostic(`${shots.length} requests: ${statuses.map((status) => `${count(status)} × ${status}`).join(', ')}`)
    const longestMs = Math.max(...shots.map(({ workedMs }) => workedMs))
    const most = USERS.map(({ user, atOnce }) => {
      const versions = OLD.endsWith('lib') ? [undefined] : ['old', 'new']
      const sums = versions.map((version) =>
        shots
          .filter((shot) => shot.user === user && (version === undefined || shot.version === version))
          .reduce((sum, { workedMs }) => sum + workedMs, 0),
      )
      return { user, ms: Math.max(...sums), atOnce }
    })
    t.diagnostic(most.map(({ user, ms }) => `${user} ${Math.round(ms)} ms`).join(', '))
    t.diagnostic(`limit ${LIMIT_MS} ms; the longest request ${Math.round(longestMs)} ms`)
    assert.deepEqual(statuses, [200, 429], 'no request without an answer, and no 5xx')
    assert.ok(shots.some(({ version }) => version === 'old') && shots.some(({ version }) => version === 'new'))
    for (const { user, status } of shots) if (user.startsWith('calm')) assert.equal(status, 200, user)
    for (const { user, ms, atOnce } of most) assertIs(ms, atMost(LIMIT_MS + atOnce * longestMs), `${user}: ${ms} ms`)
  }

  it('new ports, and a reload of nginx before each SIGTERM: any method', async (t) => {
    await deploy(t, ['GET', 'POST', 'PUT'], async (old, nginx, ports) => {
      const port = await freePort()
      await start(t, 'new', port)
      ports[ports.indexOf(old.port)] = port
      await nginx.balance(ports)
      await old.end()
    })
  })

  it('restarts in place: nginx asks the next server, by methods that may be repeated', async (t) => {
    await deploy(t, ['GET'], async (old) => {
      await old.end()
      await start(t, 'new', old.port)
    })
  })
})

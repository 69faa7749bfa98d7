import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ThrottleOptions } from '../../lib'
import { get } from '../support/serve'
import { until } from '../support/until'
import type { ApiConfig, Place } from './api'
import { shoot } from './load'
import { type Log, LogReader } from './log'
import { spawnProgram } from '../support/typescript'

/** A process of the API, as its clients and its operator see it. */
export interface Api {
  readonly pid: number
  readonly port: number
  readonly agent: Agent
  /** What its handlers wrote so far. */
  log(): Log
  /** When the process was found gone, in microseconds of the machine's monotonic clock. */
  goneAt: number
  usage(user: string, throttle?: number): Promise<{ spentMs: number; degraded: boolean }>
  /** How often it lost its store so far. */
  degraded(): number
  /** The longest that its event loop stood still since the last call, in milliseconds. */
  stallMs(): Promise<number>
  /** Sends the signal, and waits for the end of the process. */
  end(signal: NodeJS.Signals): Promise<void>
}

/** Whatever is ended when its owner ends: a spec, or a suite. */
export interface Owner {
  after(fn: () => void | Promise<void>): void
}

export interface ApisOptions {
  readonly redis: Place
  readonly throttles: Readonly<Record<string, ThrottleOptions>>
  readonly env?: NodeJS.ProcessEnv
}

/** Starts `n` processes, and waits until each shares its windows with the others. */
export async function startApis(owner: Owner, n: number, options: ApisOptions): Promise<Api[]> {
  const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-chaos-'))
  const apis = await Promise.all(Array.from({ length: n }, (_, i) => start(owner, options, join(folder, `${i}.log`))))
  owner.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const api of apis) await until(async () => (await api.usage('nobody')).degraded, false)
  const warming = apis.flatMap((api) => Object.keys(options.throttles).map((name) => warm(api, `/${name}/warm/1`)))
  await Promise.all(warming)
  return apis
}

/** The first requests of a process are slow between its handlers and its throttle. */
async function warm(api: Api, path: string): Promise<void> {
  for (let i = 0; i < 20; i++) await shoot(api, path, 'warmer')
}

async function start(owner: Owner, { env, ...options }: ApisOptions, log: string): Promise<Api> {
  const config: ApiConfig = { ...options, log }
  const child = spawnProgram(__dirname, 'api', config, env)
  const exit = once(child, 'exit')
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  owner.after(async () => {
    agent.destroy()
    child.kill('SIGKILL')
    await exit
  })
  const said: string[] = []
  createInterface(child.stdout).on('line', (line) => said.push(line))
  const found = () => said.map((line) => /^port (\d+)$/.exec(line)?.[1]).find(Boolean)
  await until(() => found() !== undefined || child.exitCode !== null)
  const port = Number(found())
  const reader = new LogReader(log)
  owner.after(() => reader.close())
  const api: Api = {
    pid: child.pid as number,
    port,
    agent,
    goneAt: Infinity,
    log: () => reader.read(),
    usage: async (user, throttle = 0) => {
      const { body } = await get(`http://127.0.0.1:${port}/usage/${throttle}/${encodeURIComponent(user)}`)
      return (JSON.parse(body) as [{ spentMs: number; degraded: boolean }])[0]
    },
    degraded: () => said.filter((line) => line === 'degraded').length,
    stallMs: async () => Number((await get(`http://127.0.0.1:${port}/stall`)).body),
    end: async (signal) => {
      child.kill(signal)
      await exit
    },
  }
  void exit.then(() => (api.goneAt = monotonicUs()))
  return api
}

/** What the handlers did for some users, once every one of them has come to its end or its process has. */
export async function endedLogs(apis: readonly Api[], wanted: (user: string) => boolean = () => true): Promise<Log[]> {
  const logs = () =>
    apis.map((api) => {
      const { runs, ...rest } = api.log()
      return { ...rest, runs: runs.filter(({ user }) => wanted(user)), goneAt: api.goneAt }
    })
  await until(() => logs().every(({ runs, goneAt }) => goneAt < Infinity || runs.every(({ end }) => end !== undefined)))
  return logs()
}

/** The clock of the handlers' logs. */
function monotonicUs(): number {
  return Math.round(Number(process.hrtime.bigint()) / 1_000)
}

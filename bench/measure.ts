import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startRedis } from '../spec/support/redis'
import type { Setup } from './contestants/setup'
import type { Answered, Asked } from './load-generator'
import type { LoadName } from './loads'
import type { ContestantName } from './server'
import { Worker } from './worker'

/** How much is measured. */
export interface Extent {
  /** Each contestant is loaded for a slice of each round; a figure is the median of the rounds. */
  readonly rounds: number
  readonly sliceMs: number
  /** Before the first round, so that code is compiled and connections stand. */
  readonly warmMs: number
  /** After a slice, for what a server has still to tell its Redis: it counts as the slice's. */
  readonly afterMs: number
}

export interface Slice {
  readonly perSec: number
  /** Processor time of the server's process, for one request. */
  readonly cpuUs: number
  /** Commands that Redis was sent, for one request; NaN without Redis. */
  readonly commands: number
}

/** Slices of each contestant by its name: those of one index were taken in the same round. */
export type Rounds = ReadonlyMap<ContestantName, readonly Slice[]>

interface Runner {
  readonly name: ContestantName
  readonly server: Worker
  readonly port: number
  readonly redis: Redis | undefined
  stop(): Promise<void>
}

const CONNECTIONS = 32

/** Loads contestants in turn, a slice of each in every round: what else the machine does hits all of them. */
export async function measure(
  contestants: readonly ContestantName[],
  load: LoadName,
  { rounds, sliceMs, warmMs, afterMs }: Extent,
  setup: Omit<Setup, 'redisUrl'>,
): Promise<Rounds> {
  const generator = new Worker('load-generator')
  const runners: Runner[] = []
  const slices = new Map<ContestantName, Slice[]>(contestants.map((name) => [name, []]))
  try {
    for (const name of contestants) runners.push(await start(name, setup))
    const slice = async ({ server, port, redis }: Runner, ms: number): Promise<Slice> => {
      await redis?.config('RESETSTAT')
      const before = await server.ask<{ cpuUs: number }>({})
      const asked: Asked = { port, load, tokens: setup.tokens, connections: CONNECTIONS, ms }
      const { count, ms: took } = await generator.ask<Answered>(asked)
      await sleep(afterMs)
      const after = await server.ask<{ cpuUs: number }>({})
      const commands = redis ? (await scriptsOf(redis)) / count : NaN
      return { perSec: (1_000 * count) / took, cpuUs: (after.cpuUs - before.cpuUs) / count, commands }
    }
    // V8 makes the heap of a server smaller while others are warmed: a first round does not count.
    for (const ms of [warmMs, sliceMs]) for (const runner of runners) await slice(runner, ms)
    for (let round = 0; round < rounds; round++) {
      for (const runner of runners) slices.get(runner.name)?.push(await slice(runner, sliceMs))
    }
  } finally {
    generator.stop()
    await Promise.all(runners.map((runner) => runner.stop()))
  }
  return slices
}

async function start(name: ContestantName, setup: Omit<Setup, 'redisUrl'>): Promise<Runner> {
  const own = name.includes('Redis') ? await startRedis() : undefined // each its own, so that its figures are nobody else's
  const redis = own && new Redis(own.port)
  const server = new Worker('server')
  const redisUrl = own ? `redis://127.0.0.1:${own.port}` : ''
  const { port } = await server.ask<{ port: number }>({ name, setup: { ...setup, redisUrl } })
  const stop = async () => {
    server.stop()
    redis?.disconnect()
    await own?.stop()
  }
  return { name, server, port, redis, stop }
}

/** Every throttle asks Redis by scripts. */
async function scriptsOf(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats')
  const calls = [...stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+)/gm)].map(([, count]) => Number(count))
  return calls.reduce((sum, count) => sum + count, 0)
}

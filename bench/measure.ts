import { type Server as RedisServer, startRedis } from '../spec/support/redis'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Setup } from './contestants/setup'
import { GROUPS, type Group, type GroupName, LOADS, type LoadName, processesOf, takesPart } from './groups'
import type { Load, Loaded } from './load'
import { COMPANION_MS, HOT_USER, type LoadParameters, REDIS_DELAY_MS } from './load-parameters'
import { Worker, idle, stayOn } from './processes'
import type { ContestantName, Question } from './server'

/** What was measured in one slice. */
export interface Slice {
  readonly perSec: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** Of the server's process, for one request. */
  readonly cpuUs: number
  /** The longest that the server's event loop was late, in milliseconds. */
  readonly loopMs: number
  /** Scripts that Redis ran for one request, and what each subject in one took it; absent without Redis. */
  readonly scripts?: { readonly perRequest: number; readonly us: number }
}

export type Row = { readonly contestant: ContestantName; readonly load: LoadName; readonly slices: readonly Slice[] }
export type Measured = Readonly<Record<GroupName, readonly Row[]>>

/** What Redis was sent: scripts, the subjects in them, and the microseconds that they took. */
interface Scripts {
  readonly calls: number
  readonly subjects: number
  readonly us: number
}

export type TokenGroup = 'tokens' | 'tokensOnAllCores'

/** What one core of the machine can do, once a round. */
export interface Limits {
  readonly verifyUs: number[]
  readonly signUs: Readonly<Record<TokenGroup, number[]>>
  /** Of Redis, for a script that only returns TIME. */
  readonly timeUs: number[]
}

/** Bytes on the heap. */
export interface Memory {
  readonly subject: SubjectMemory
  readonly subjectOnRedis: SubjectMemory
  readonly token: number
}

interface SubjectMemory {
  /** Of one that asked a moment ago, and of one in its window that has not asked for some seconds. */
  readonly asking: number
  readonly resting: number
}

/** In so long connections are closed, and what they left on the heap can be collected. */
const CLOSING_MS = 2_000

type Way = Pick<Group, 'slow' | 'allCores' | 'within' | 'isCoreBusy'>
type Asking = Pick<Load, 'users' | 'tokens'>
/** What else is measured once in each round. */
type Alongside = (runner: Runner, load: LoadName) => Promise<void>

interface Runner {
  readonly name: ContestantName
  readonly server: Worker
  readonly port: number
  readonly redis: Redis | undefined
  readonly generator: { ask<T>(load: Load): Promise<T> }
  stop(): Promise<void>
}

/** Measures group after group. */
export class Bench {
  /** Sleeps between answers: for groups whose other processes keep its core busy. */
  readonly #sleepingGenerator = new Worker('load-generator', 1)
  /** Never sleeps while it loads, and leaves its core at once to a Redis that wants it. */
  readonly #generator = idle ? new Worker('load-generator', 1, ['awake'], 'idle') : this.#sleepingGenerator
  readonly #kept = new Map<ContestantName, Runner>()

  constructor(
    readonly parameters: LoadParameters,
    readonly setup: Omit<Setup, 'redisUrl'>,
    /** More tokens than fit into a cold cache. */
    readonly manyTokens: readonly string[],
  ) {}

  /** All rows of a group, and in the same rounds of a load whatever `alongside` measures. */
  async group(name: GroupName, alongside?: Alongside): Promise<Row[]> {
    const group: Group = GROUPS[name]
    const starts = this.parameters.keepProcesses ? 1 : (group.starts ?? 1)
    const processes: Row[][] = []
    for (let i = 0; i < starts; i++) processes.push(await this.#rounds(group, alongside))
    const slices = (at: number) => processes.flatMap((rows) => rows[at]?.slices ?? [])
    return (processes[0] ?? []).map((row, at) => ({ ...row, slices: slices(at) }))
  }

  /** The rounds of a group with one process of each contestant. */
  async #rounds(group: Group, alongside: Alongside | undefined): Promise<Row[]> {
    const { sliceMs } = this.parameters
    const warmMs = this.parameters.warmMs * (group.warms ?? 1)
    const contestants = group.contestants.filter((one) => processesOf(one) <= this.parameters.mostProcesses)
    const runners = await Promise.all(contestants.map((one) => this.#runner(one, group)))
    const loaded = (name: ContestantName, load: LoadName) =>
      takesPart(name, load) && (this.parameters.allLoads || load === group.loads.find((one) => takesPart(name, one)))
    // What is left to do after a slice, and what V8 clears away then, counts for all of a group, or for none.
    const restMs = runners.some(({ redis }) => redis) ? this.parameters.afterMs : 0
    const rows = group.loads.flatMap((load) => {
      const those = runners.filter((runner) => loaded(runner.name, load))
      return those.map((runner) => ({ runner, load, slices: [] as Slice[] }))
    })
    try {
      // One load after the other: between two slices with the same users, a server should not forget them for long.
      for (const loads of group.comparesLoads ? [group.loads] : group.loads.map((load) => [load])) {
        const those = rows.filter(({ load }) => loads.includes(load))
        // While others are warmed, V8 makes the heap of who rests smaller, and the next second is dearer for it. So
        // the first round is not counted: in all others everybody has rested equally long.
        for (const ms of [warmMs, sliceMs]) {
          for (const { runner, load } of those) await this.#slice(runner, load, ms, restMs)
        }
        for (let round = 0; round < this.parameters.rounds; round++) {
          for (const { runner, load, slices } of those) slices.push(await this.#slice(runner, load, sliceMs, restMs))
          await alongside?.(runners.at(-1) as Runner, loads[0] as LoadName)
        }
      }
    } finally {
      await Promise.all(runners.map((runner) => runner.stop()))
    }
    return rows.map(({ runner, load, slices }) => ({ contestant: runner.name, load, slices }))
  }

  async tokens(name: TokenGroup, limits: Limits): Promise<Row[]> {
    return this.group(
      name,
      async ({ server }) => void limits.signUs[name].push(await rawUs(server, 'signing', this.#raw)),
    )
  }

  async cold(limits: Limits): Promise<Row[]> {
    return this.group(
      'cold',
      async ({ server }) => void limits.verifyUs.push(await rawUs(server, 'verifying', this.#raw)),
    )
  }

  async redis(limits: Limits): Promise<Row[]> {
    return this.group('redis', async ({ redis }, load) => {
      if (load === '10,000 users') limits.timeUs.push(await timeUs(redis as Redis))
    })
  }

  get #raw(): number {
    return this.parameters.sliceMs / 2
  }

  /** What a subject, and a token in the cache, add to the process's heap. */
  async memory(): Promise<Memory> {
    const { tokens } = this.parameters
    const [warming, measured] = [this.manyTokens.slice(tokens), this.manyTokens.slice(0, tokens)]
    const token = await this.#bytesEach('requireBearer()', tokens, warming.length, [
      { users: 'hot', tokens: warming },
      { users: 'hot', tokens: measured },
    ])
    return {
      subject: await this.#subjectBytes('throttle(), memory'),
      subjectOnRedis: await this.#subjectBytes('throttle(), Redis'),
      token,
    }
  }

  async #subjectBytes(name: ContestantName): Promise<SubjectMemory> {
    const { subjects, warmRequests, restMs } = this.parameters
    const few = subjects / 25 // so few that all have asked within about a second
    return {
      asking: await this.#bytesEach(name, few, warmRequests, [{ users: 'hot' }, { users: few }]),
      resting: await this.#bytesEach(name, subjects, warmRequests, [{ users: 'hot' }, { users: subjects }], restMs),
    }
  }

  stop(): void {
    this.#generator.stop()
    this.#sleepingGenerator.stop()
    for (const { server } of this.#kept.values()) server.stop()
  }

  /**
   * What each of `count` requests leaves on the heap, at once or after some seconds, after `warmRequests` others which
   * go the same way: what is made once has been made then, code, connections, timers.
   */
  async #bytesEach(
    name: ContestantName,
    count: number,
    warmRequests: number,
    [others, load]: readonly [Asking, Asking],
    afterMs = 0,
  ): Promise<number> {
    const runner = await this.#start(name, {}, ['--expose-gc'])
    const { port, server } = runner
    const heap = async () => (await server.ask<{ heapBytes: number }>({ ask: 'cost' } satisfies Question)).heapBytes
    const asked = { port, connections: LOADS['one hot user'].connections, expect: 200 }
    try {
      await this.#generator.ask<Loaded>({ ...asked, ...others, count: warmRequests } satisfies Load)
      await setTimeout(Math.min(CLOSING_MS, this.parameters.restMs))
      const before = await heap()
      const loaded = await this.#generator.ask<Loaded>({ ...asked, ...load, count } satisfies Load)
      allAsExpected(name, loaded)
      if (afterMs > 0) await setTimeout(afterMs)
      return ((await heap()) - before) / count
    } finally {
      await runner.stop()
    }
  }

  async #slice(
    { name, server, port, redis, generator }: Runner,
    loadName: LoadName,
    ms: number,
    restMs: number,
  ): Promise<Slice> {
    const tokens = { 'one token': this.setup.tokens, 'many tokens': this.manyTokens }[loadName as string]
    const load: Load = { ...LOADS[loadName], port, ms, ...(tokens && { tokens }) }
    const cost = () => server.ask<{ cpuUs: number; loopMs: number }>({ ask: 'cost' } satisfies Question)
    if (loadName === 'refused') await generator.ask<Loaded>({ ...load, count: 50 }) // the first ones pass
    await redis?.config('RESETSTAT')
    const before = await cost()
    const loaded = await generator.ask<Loaded>(load)
    if (restMs > 0) await setTimeout(restMs)
    const after = await cost()
    allAsExpected(name, loaded)
    const scripts = redis && (await scriptsOf(redis))
    return sliceOf(loaded, after.cpuUs - before.cpuUs, after.loopMs, scripts)
  }

  async #runner(name: ContestantName, group: Way): Promise<Runner> {
    const kept = this.#kept.get(name)
    if (kept) return kept
    const runner = await this.#start(name, group)
    if (!this.parameters.keepProcesses || runner.redis) return runner
    const stop = () => Promise.resolve()
    this.#kept.set(name, { ...runner, stop })
    return { ...runner, stop }
  }

  async #start(
    name: ContestantName,
    { slow, allCores, within, isCoreBusy }: Way,
    flags: readonly string[] = [],
  ): Promise<Runner> {
    stayOn(isCoreBusy ? undefined : 1)
    const ends: (() => unknown)[] = []
    let redis: Redis | undefined
    let redisUrl = ''
    if (/Redis|process(es)?$/.test(name)) {
      const own: RedisServer = await startRedis() // each its own, so that its figures are nobody else's
      redis = new Redis(own.port)
      let { port } = own
      ends.push(
        () => redis?.disconnect(),
        () => own.stop(),
      )
      if (slow) {
        const way = new Worker('slow-way', 1, [String(own.port), String(REDIS_DELAY_MS)])
        ends.unshift(() => way.stop())
        ;({ port } = await way.ask<{ port: number }>())
      }
      redisUrl = `redis://127.0.0.1:${port}`
    }
    const server = new Worker('server', allCores ? undefined : 0, [], flags)
    ends.unshift(() => server.stop())
    const told = { name, setup: { ...this.setup, redisUrl } }
    const { port } = await server.ask<{ port: number }>(told)
    // Those who share its subject stand where they do not take the measured one's core.
    for (let i = 1; i < processesOf(name); i++) {
      const companion = new Worker('server', 1, [], ['--disable-warning=TOLLGATE_DEGRADED'])
      ends.unshift(() => companion.stop())
      await companion.ask(told)
      await companion.ask({ ask: 'companion', user: HOT_USER, everyMs: COMPANION_MS } satisfies Question)
    }
    const stop = async () => {
      for (const end of ends) await end()
    }
    const itself = { ask: <T>(load: Load) => server.ask<T>({ ask: 'load', load } satisfies Question) }
    const generator = within ? itself : isCoreBusy ? this.#sleepingGenerator : this.#generator
    return { name, server, port, redis, generator, stop }
  }
}

function sliceOf({ ms, tookMs }: Loaded, cpuUs: number, loopMs: number, scripts: Scripts | undefined): Slice {
  const sorted = tookMs.toSorted((a, b) => a - b)
  const share = (p: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? NaN
  return {
    perSec: tookMs.length / (ms / 1_000),
    p50Ms: share(0.5),
    p99Ms: share(0.99),
    p999Ms: share(0.999),
    cpuUs: cpuUs / tookMs.length,
    loopMs,
    ...(scripts && {
      scripts: {
        perRequest: scripts.calls / tookMs.length,
        us: scripts.subjects === 0 ? 0 : scripts.us / scripts.subjects,
      },
    }),
  }
}

function allAsExpected(name: string, { tookMs, wrong }: Loaded): void {
  if (tookMs.length === 0) throw new Error(`${name} answered nothing`)
  if (Object.keys(wrong).length > 0)
    throw new Error(`${name} answered otherwise than expected: ${JSON.stringify(wrong)}`)
}

async function rawUs(server: Worker, ask: 'verifying' | 'signing', forMs: number): Promise<number> {
  return (await server.ask<{ us: number }>({ ask, forMs } satisfies Question)).us
}

/** What was sent since the last RESETSTAT. Each time that a script of ours takes several subjects on, it writes a field of each. */
async function scriptsOf(redis: Redis): Promise<Scripts> {
  const stats = await redis.info('commandstats')
  let calls = 0
  let us = 0
  for (const [, c, usec] of stats.matchAll(/^cmdstat_(?:evalsha|eval|fcall):calls=(\d+),usec=(\d+)/gm)) {
    calls += Number(c)
    us += Number(usec)
  }
  const subjects = Math.max(calls, Number(/^cmdstat_hset:calls=(\d+)/m.exec(stats)?.[1] ?? 0))
  return { calls, subjects, us }
}

/** The floor for a script: one that returns TIME, sent as syncs are. */
async function timeUs(redis: Redis): Promise<number> {
  const sha = (await redis.script('LOAD', "return redis.call('TIME')")) as string
  await redis.config('RESETSTAT')
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, () => redis.evalsha(sha, 0)))
  const { calls, us } = await scriptsOf(redis)
  return us / calls
}

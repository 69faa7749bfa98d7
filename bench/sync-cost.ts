// npm run bench:sync: what one sync costs Redis, by the processes that live and have lived in the window, and what a
// fleet with one hot subject costs it. Microseconds and CPU time as Redis counts them, by INFO.
//   --against REF    beside the build of another commit, in turn, and nothing else
//   --fleet          nothing but the fleet
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import * as here from '../lib/index'
import type { ThrottleStore } from '../lib/throttle/sync/store'
import type { SyncCommand } from '../lib/throttle/sync/sync-protocol'
import { startRedis } from '../spec/support/redis'
import { syncCommand } from '../spec/support/sync-command'
import { until } from '../spec/support/until'

/** A build of this package, of which older ones name a few figures of a command otherwise. */
interface Build {
  readonly label: string
  readonly redisStore: (url: string) => ThrottleStore
}

/** Processes that live, that were killed and that were closed. */
interface Case {
  readonly living: number
  readonly killed: number
  readonly closed: number
}

const HERE: Build = { label: 'here', redisStore: here.redisStore }

/** Syncs of different subjects that go to Redis in one command. */
const TOGETHER = 20
/** A round of measuring, and how many: of each figure the median round counts. */
const SYNCS = 400
const ROUNDS = 15
/** So many commands of one sync are under way at a time, each over its own connection, where Redis has more to do. */
const UNDER_WAY = 30
/** More processes than this share connections. */
const CONNECTIONS = 100
const LIVING: readonly Case[] = [1, 8, 20, 100].map((living) => ({ living, killed: 0, closed: 0 }))
const CROWDED: readonly Case[] = [
  { living: 600, killed: 0, closed: 0 },
  { living: 8, killed: 40, closed: 0 },
  { living: 8, killed: 0, closed: 40 },
  { living: 8, killed: 6_000, closed: 0 },
]
/** Each process of a fleet syncs a busy subject so often in a second. */
const SYNCS_PER_SECOND = 8
const FLEETS = [100, 1_000]
const FLEET_MS = 5_000

const starts = Date.now() * 1_000 - 10_000_000
const ends = starts + 86_400_000_000
let seq = 0

/** Subjects of one window, synced by as many processes as are asked for. */
class Subjects {
  readonly #stores: readonly ThrottleStore[]
  readonly #number: number
  readonly #told = new Map<string, number>()

  constructor(stores: readonly ThrottleStore[], number: number) {
    this.#stores = stores
    this.#number = number
  }

  /** One process's sync of so many subjects, from the first or another one on. */
  async sync(process: string, i: number, subjects: number, more: Partial<SyncCommand> = {}, first = 0): Promise<void> {
    const shard = (this.#stores[i % this.#stores.length] as ThrottleStore).shardOf('')
    const figures = { spent: 123_456 + seq, hold: 50_000, running: 2, slice: 20_000, unit: 10_000, limit: 1e12 }
    const syncs = Array.from({ length: subjects }, (_, n) => {
      const k = first + n
      const name = `${process}:${k}`
      const [stored, number] = [this.#told.get(name) ?? 0, this.#number]
      this.#told.set(name, ++seq)
      const command = syncCommand({ id: `s${k}`, number, starts, ends, process, seq, stored, ...figures, ...more })
      return shard.sync('bench', Object.assign(command, { start: starts, end: ends }))
    })
    await Promise.all(syncs)
  }
}

const nameOf = (kind: string, i: number) => kind + String(i).padStart(7, '0')
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

async function connected(build: Build, url: string, connections: number): Promise<ThrottleStore[]> {
  const stores = Array.from({ length: connections }, () => build.redisStore(url))
  for (const store of stores)
    await until(() =>
      store
        .shardOf('')
        .beat()
        .catch(() => undefined),
    )
  return stores
}

/** Microseconds that Redis spent in scripts, and how many ran. */
async function scripts(admin: Redis): Promise<{ us: number; calls: number }> {
  const [, calls = 0, us = 0] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(await admin.info('commandstats')) ?? []
  return { us: Number(us), calls: Number(calls) }
}

/** Measures the builds in turn, a round of each, so that what else the machine does hits all of them. */
async function measure(admin: Redis, builds: readonly Build[], url: string, { living, killed, closed }: Case) {
  const runs = []
  for (const { label, redisStore } of builds) {
    await admin.flushall()
    const stores = await connected({ label, redisStore }, url, Math.max(UNDER_WAY, Math.min(living, CONNECTIONS)))
    const subjects = new Subjects(
      stores,
      builds.findIndex((build) => build.label === label),
    )
    runs.push({ label, stores, subjects, one: [] as number[], busy: [] as number[], together: [] as number[], i: 0 })
  }
  await admin.flushall()
  for (const { subjects } of runs) {
    for (let i = 0; i < killed; i++) await subjects.sync(nameOf('k', i), i, UNDER_WAY)
    for (let i = 0; i < closed; i++) {
      await subjects.sync(nameOf('c', i), i, UNDER_WAY)
      await subjects.sync(nameOf('c', i), i, TOGETHER, { closing: true })
    }
    for (let i = 0; i < living; i++) await subjects.sync(nameOf('l', i), i, UNDER_WAY)
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const run of runs) {
      for (const [figures, together] of [
        [run.one, 1],
        [run.together, TOGETHER],
      ] as const) {
        await admin.config('RESETSTAT')
        for (let n = 0; n < SYNCS; n += together) {
          const i = run.i++ % living
          await run.subjects.sync(nameOf('l', i), i, together)
        }
        const { us, calls } = await scripts(admin)
        figures.push(us / calls / together)
      }
      await admin.config('RESETSTAT')
      for (let n = 0; n < SYNCS; n += UNDER_WAY) {
        const i = run.i++ % living
        await Promise.all(Array.from({ length: UNDER_WAY }, (_, k) => run.subjects.sync(nameOf('l', i), k, 1, {}, k)))
      }
      const { us, calls } = await scripts(admin)
      run.busy.push(us / calls)
    }
  }
  for (const { stores } of runs) for (const store of stores) await store.close()
  return runs.map(({ label, one, busy, together }) => ({
    ...{ label, one: median(one), busy: median(busy), together: median(together) },
  }))
}

/** What a record takes, and what the one sync takes that finds its own figures lost and adds up all others. */
async function sizeAndLoss(admin: Redis, url: string, { living, killed, closed }: Case) {
  await admin.flushall()
  const stores = await connected({ label: '', redisStore: here.redisStore }, url, 1)
  const subjects = new Subjects(stores, 7)
  for (let i = 0; i < killed; i++) await subjects.sync(nameOf('k', i), i, 1)
  for (let i = 0; i < closed; i++) {
    await subjects.sync(nameOf('c', i), i, 1)
    await subjects.sync(nameOf('c', i), i, 1, { closing: true })
  }
  for (let i = 0; i < living; i++) await subjects.sync(nameOf('l', i), i, 1)
  const key = 'tollgate:w2:{s0}:7:bench'
  const bytes = Number(await admin.memory('USAGE', key, 'SAMPLES', 0))
  const losses: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await admin.hdel(key, nameOf('l', 0))
    await admin.config('RESETSTAT')
    await subjects.sync(nameOf('l', 0), 0, 1)
    losses.push((await scripts(admin)).us)
  }
  for (const store of stores) await store.close()
  return { bytes, loss: median(losses) }
}

/**
 * Redis's share of a processor while so many processes sync one busy subject, each over a connection of its own, and
 * how long an answer takes.
 */
async function fleet(admin: Redis, url: string, processes: number) {
  await admin.flushall()
  const stores = await connected({ label: '', redisStore: here.redisStore }, url, processes)
  const subjects = new Subjects(stores, 8)
  const used = async () => {
    const cpu = await admin.info('cpu')
    const of = (kind: string) => Number(new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(cpu)?.[1])
    return of('sys') + of('user')
  }
  for (let i = 0; i < processes; i++) await subjects.sync(nameOf('l', i), i, 1)
  const [before, startedAt] = [await used(), performance.now()]
  const since = () => performance.now() - startedAt
  const everyMs = 1_000 / (processes * SYNCS_PER_SECOND)
  const tookMs: number[] = []
  const underWay = new Set<number>()
  const one = async (i: number) => {
    underWay.add(i)
    const from = performance.now()
    await subjects.sync(nameOf('l', i), i, 1)
    tookMs.push(performance.now() - from)
    underWay.delete(i)
  }
  for (let n = 0; since() < FLEET_MS; await new Promise(setImmediate)) {
    // A process whose last answer is not there yet leaves one out, as a real one does.
    for (; n * everyMs < since(); n++) if (!underWay.has(n % processes)) void one(n % processes)
  }
  await until(() => underWay.size === 0)
  const seconds = since() / 1_000
  const share = ((await used()) - before) / seconds
  for (const store of stores) await store.close()
  return { share, perSecond: tookMs.length / seconds, medianMs: median(tookMs) }
}

/** The build of another commit, in a folder within this one, so that its dependencies are found. */
async function buildOf(ref: string): Promise<{ build: Build; remove: () => void }> {
  const root = join(__dirname, '..')
  const folder = mkdtempSync(join(root, '.cache', 'against-'))
  const files = execFileSync('git', ['archive', ref, 'lib', 'package.json'], { cwd: root, maxBuffer: 1e8 })
  execFileSync('tar', ['-x'], { cwd: folder, input: files })
  const { redisStore } = (await import(join(folder, 'lib/index.ts'))) as typeof here
  return { build: { label: ref, redisStore }, remove: () => rmSync(folder, { recursive: true }) }
}

const row = (...cells: (string | number)[]) => console.log(`| ${cells.join(' | ')} |`)
const us = (n: number) => n.toFixed(1)

/** This build beside another one. */
async function besideOther(admin: Redis, url: string, against: string): Promise<void> {
  const { build, remove } = await buildOf(against)
  const titles = ['alone', `of ${UNDER_WAY} under way`, `of ${TOGETHER} together`]
  row('living', ...titles.flatMap((kind) => [kind, against, 'ratio']))
  for (const one of LIVING) {
    const [a, b] = await measure(admin, [HERE, build], url, one)
    if (!a || !b) continue
    const kinds = (['one', 'busy', 'together'] as const).map((kind) => [a[kind], b[kind]] as const)
    row(one.living, ...kinds.flatMap(([ours, other]) => [us(ours), us(other), (ours / other).toFixed(2)]))
  }
  remove()
}

async function everyCase(admin: Redis, url: string): Promise<void> {
  row('living', 'killed', 'closed', 'µs, alone', 'µs, 30 under way', 'µs, 20 together', 'µs after a loss', 'bytes')
  for (const one of [...LIVING, ...CROWDED]) {
    const [figures] = await measure(admin, [HERE], url, one)
    const { bytes, loss } = await sizeAndLoss(admin, url, one)
    const { one: alone, busy, together } = figures ?? { one: NaN, busy: NaN, together: NaN }
    row(one.living, one.killed, one.closed, us(alone), us(busy), us(together), loss, bytes)
  }
  for (const living of [2, 10]) {
    row(living, 0, 0, '', '', '', '', (await sizeAndLoss(admin, url, { living, killed: 0, closed: 0 })).bytes)
  }
}

async function fleets(admin: Redis, url: string): Promise<void> {
  row('processes', 'syncs a second', "Redis's share of a processor", 'ms to the answer')
  for (const processes of FLEETS) {
    const { share, perSecond, medianMs } = await fleet(admin, url, processes)
    row(processes, Math.round(perSecond), `${(share * 100).toFixed(1)} %`, medianMs.toFixed(1))
  }
}

async function main(): Promise<void> {
  const options = { against: { type: 'string' }, fleet: { type: 'boolean', default: false } } as const
  const { against, fleet: isFleetAlone } = parseArgs({ options }).values
  const server = await startRedis()
  const url = `redis://127.0.0.1:${server.port}`
  const admin = new Redis(url)
  if (against !== undefined) await besideOther(admin, url, against)
  else {
    if (!isFleetAlone) await everyCase(admin, url)
    await fleets(admin, url)
  }
  admin.disconnect()
  await server.stop()
}

void main()

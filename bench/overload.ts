// Open loop: requests come at their times, whether or not earlier ones were answered.
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { type Socket, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Setup } from './contestants/setup'
import { HEAVY_PART, HEAVY_USERS, LIGHT_USERS, OVERLOAD } from './overload-load'
import type { ContestantName } from './server'
import { Worker } from './worker'

const CONNECTIONS = 32
const SLICES = 5
/** Useful to whoever asked; and when that one gives up. */
const GOOD_MS = 1_000
const PATIENCE_MS = 5_000

/** How long each is loaded, in milliseconds. Throttles are loaded for a whole window before they are measured. */
export interface OverloadExtent {
  readonly capacityMs: number
  readonly warmMs: number
  readonly windowMs: number
  readonly loadedMs: number
}

export interface OverloadFigures {
  /** Answers with 200 within a second, by the capacity. */
  readonly goodput: number
  /** Of requests that were not refused. One that was never answered counts as 5 s. */
  readonly lightP99Ms: number
  readonly lightRefused: number
  readonly heavyRefused: number
}

interface Outcome {
  readonly isHeavy: boolean
  readonly status: number
  readonly ms: number
}

/** Capacity of a bare server; the light users' p99 without the heavy ones; and each contestant at twice the capacity. */
export async function measureOverload(
  contestants: readonly ContestantName[],
  { capacityMs, warmMs, windowMs, loadedMs }: OverloadExtent,
  setup: Setup,
) {
  const bare = contestants[0] as ContestantName
  const perSec = await withServer(bare, setup, async (port) => {
    let most = 0 // of several slices, since other work on the machine only makes it less
    for (let slice = 0; slice < SLICES; slice++) most = Math.max(most, await closedLoop(port, capacityMs / SLICES))
    return most
  })
  const light = (OVERLOAD * (1 - HEAVY_PART) * perSec) / 1_000
  const heavy = (OVERLOAD * HEAVY_PART * perSec) / 1_000
  const alone = await withServer(bare, setup, (port) => openLoop(port, 0, light, warmMs, loadedMs))
  const found = new Map<ContestantName, OverloadFigures>()
  for (const name of contestants) {
    const warm = name.includes('throttle()') ? windowMs : warmMs
    const outcomes = await withServer(name, setup, (port) => openLoop(port, heavy, light, warm, loadedMs))
    found.set(name, figuresOf(outcomes, (perSec * loadedMs) / 1_000))
  }
  return { perSec, unloadedP99Ms: figuresOf(alone, 1).lightP99Ms, found }
}

async function withServer<T>(name: ContestantName, setup: Setup, work: (port: number) => Promise<T>): Promise<T> {
  const server = new Worker('server')
  try {
    const { port } = await server.ask<{ port: number }>({ name, setup })
    return await work(port)
  } finally {
    server.stop()
  }
}

function figuresOf(outcomes: readonly Outcome[], capacity: number): OverloadFigures {
  const of = (isHeavy: boolean) => outcomes.filter((outcome) => outcome.isHeavy === isHeavy)
  const refused = (some: readonly Outcome[]) => some.filter(({ status }) => status === 503).length / some.length
  const light = of(false)
  const waits = light.filter(({ status }) => status !== 503).map(({ ms }) => ms)
  return {
    goodput: outcomes.filter(({ status, ms }) => status === 200 && ms <= GOOD_MS).length / capacity,
    lightP99Ms: waits.sort((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? NaN,
    lightRefused: refused(light),
    heavyRefused: refused(of(true)),
  }
}

/** Requests answered in a second, where a few connections ask one after the other. */
async function closedLoop(port: number, ms: number): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  let count = 0
  const begun = performance.now()
  const connection = async () => {
    for (; performance.now() - begun < ms; count++) await ask(agent, port, 'nobody')
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
  const took = performance.now() - begun
  agent.destroy()
  return (1_000 * count) / took
}

/** Connections that stand before the load comes, as those of a proxy do: a busy event loop accepts few. */
async function openedAgent(port: number, count: number): Promise<Agent> {
  const opened: Socket[] = []
  while (opened.length < count) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    opened.push(socket)
  }
  class OpenedAgent extends Agent {
    override createConnection(...given: Parameters<Agent['createConnection']>) {
      return opened.pop() ?? super.createConnection(...given)
    }
  }
  return new OpenedAgent({ keepAlive: true, maxFreeSockets: Infinity })
}

/** Poisson arrivals of both kinds of users, `heavy` and `light` requests a millisecond. Those of the first `warmMs` do not count. */
async function openLoop(port: number, heavy: number, light: number, warmMs: number, loadedMs: number) {
  const agent = await openedAgent(port, (heavy + light) * PATIENCE_MS)
  const outcomes: Outcome[] = []
  const pending = new Set<Promise<void>>()
  const begun = performance.now()
  for (let at = 0; at < warmMs + loadedMs; at += -Math.log(1 - Math.random()) / (heavy + light)) {
    const dueMs = begun + at
    const aheadMs = dueMs - performance.now()
    if (aheadMs > 0) await sleep(aheadMs)
    const isHeavy = Math.random() < heavy / (heavy + light)
    const name = isHeavy ? `heavy-${pick(HEAVY_USERS)}` : `light-${pick(LIGHT_USERS)}`
    const isCounted = at >= warmMs
    const work = ask(agent, port, name).then((status) => {
      if (isCounted) outcomes.push({ isHeavy, status, ms: status === 0 ? PATIENCE_MS : performance.now() - dueMs })
      pending.delete(work)
    })
    pending.add(work)
  }
  await Promise.all(pending)
  agent.destroy()
  return outcomes
}

const pick = (count: number) => Math.floor(Math.random() * count)

/** The status, once the whole answer is there; 0 where the client gave up. */
function ask(agent: Agent, port: number, name: string): Promise<number> {
  return new Promise((resolve) => {
    const request = get({ agent, port, host: '127.0.0.1', headers: { 'X-User': name } }, (res) => {
      res.resume()
      res.on('close', () => {
        clearTimeout(timer)
        resolve(res.complete ? (res.statusCode ?? 0) : 0)
      })
    })
    const timer = setTimeout(() => request.destroy(), PATIENCE_MS)
    request.on('error', () => {
      clearTimeout(timer)
      resolve(0)
    })
  })
}

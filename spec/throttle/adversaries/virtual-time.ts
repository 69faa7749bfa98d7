import type { TestContext } from 'node:test'
import express, { type Request } from 'express'
import { type ThrottleOptions, budgetOf, throttle } from '../../../lib'
import { listen, serve } from '../../support/serve'
import { steppedClock, turn } from '../stepped-clock'
import { above, until } from '../../support/until'
import { type Attack, Client, type TrickName, beQuick, handleAttack } from './attacks'
import { modelStores } from './model-stores'
import { opaqueStore } from '../../../lib/throttle/store/store'

const LIMIT_MS = 18_000
const WINDOWS = 20

/**
 * What an attacker gets of an API at default terms, over sockets that are real and in time that is the spec's. In
 * limits: by the requests that began in the first window, and on average.
 *
 * @param processes so many share a store; one has none
 */
export async function attack(
  t: TestContext,
  { tricks, isQuickFirst, isOnNewRoutes, open = 40, concurrency, isMoving, blocks }: Attack,
  ms: number,
  processes: number,
) {
  const clock = steppedClock()
  const subject = (req: Request) => req.get('X-User') as string
  const stores = processes === 1 ? [{}] : modelStores(processes, clock).map((store) => ({ store: opaqueStore(store) }))
  const throttles = stores.map((store) => throttle({ subject, clock, concurrency, ...store }))
  const spent = await spentThrottle({ subject, clock })
  // Without a store nothing is awaited that comes by another way than the sockets.
  const passUntil = async (endMs: number) =>
    processes === 1 ? clock.advance(Math.max(0, endMs - clock.now())) : clock.passUntil(endMs)
  const clients = new Map<string, Client>()
  let [heard, running, begun, blocked, sent, window] = [0, 0, 0, 0, 0, 0]
  const work = handleAttack((req, done) => {
    const client = clients.get(req.query.id as string) as Client
    begun++
    running++
    clock.after(ms, () => {
      running--
      done()
      client.destroy()
    })
  })
  const blockMs = ms * (blocks?.part ?? 0)
  const block = express.Router().get('/block', (req, res, next) => {
    if (req.query.quick !== undefined) return next()
    blocked++
    clock.block(blockMs)
    res.end()
  })
  const servers = await Promise.all(throttles.map((each) => listen(express().use(each, block, work, spent))))
  t.after(() => Promise.all(servers.map(({ close }) => close())))
  t.after(() => clients.forEach((client) => client.destroy()))
  for (const { server } of servers) server.on('request', () => heard++)
  const usage = async () => {
    const asked = throttles[0]?.usage('eve')
    await passUntil(clock.now() + 1) // in which the store is asked
    return (await asked)?.[0] as { spentMs: number; endsInMs: number }
  }
  const windowEnd = async () => Math.ceil(clock.now() + (await usage()).endsInMs)
  const settled = async () => {
    for (let turns = 0; turns < 3; turns++) await turn()
    for (const [id, { isOver }] of clients) if (isOver) clients.delete(id)
  }
  const ask = (path: string, user: string, trick: TrickName) => {
    const { port } = servers[(isMoving ? window : sent++) % processes] as { port: number }
    const client = new Client(port, path, user, trick)
    clients.set(client.id, client)
    return client
  }
  const askMore = async (path: string) => {
    const more = (await usage()).spentMs > LIMIT_MS ? 0 : Math.max(0, open - clients.size)
    const known = heard + more
    for (let i = 0; i < more; i++) ask(path, 'eve', tricks[i % tricks.length] ?? 'slow')
    await until(() => heard, known)
    await settled()
  }
  /** Until it is not let in at once, or its requests have ended. */
  const askForBlocks = async ({ as }: NonNullable<Attack['blocks']>) => {
    for (let n = 1; n * blockMs <= ms; n++) {
      const known = { heard, blocked }
      const client = ask('/block', as, 'slow')
      await until(() => heard, above(known.heard))
      await settled()
      if (blocked === known.blocked) return client.destroy()
      await passUntil(clock.now() + 1)
    }
  }
  /** By the attacker himself, in limits. */
  const taken = () => (begun * ms + (blocks?.as === 'eve' ? blocked * blockMs : 0)) / LIMIT_MS
  let first = 0
  await passUntil(await windowEnd())
  for (; window < WINDOWS; window++) {
    const path = isOnNewRoutes ? `/r${window}` : '/r'
    const endsAt = await windowEnd()
    if (isQuickFirst) {
      let known = heard
      for (const { url } of servers) {
        known += beQuick(url + path, 'eve', tricks)
        if (blocks) known += beQuick(`${url}/block`, blocks.as, ['slow'])
      }
      await until(() => heard, known)
    }
    while (clock.now() < endsAt) {
      await askMore(path)
      for (const client of clients.values()) client.dribble()
      await settled()
      if (blocks) await askForBlocks(blocks)
      await passUntil(running + clients.size === 0 ? endsAt : Math.min(endsAt, clock.now() + ms / 2))
      await settled()
    }
    if (window === 0) first = taken()
  }
  return { first, average: taken() / WINDOWS }
}

/** A throttle behind the work, in which the attacker has no time left for as long as he tries. */
async function spentThrottle(options: ThrottleOptions) {
  const spent = throttle({ ...options, name: 'spent', limitMs: 1, windowMs: 30 * 86_400_000 })
  const app = express().use(spent, (req, res) => {
    budgetOf(req).charge(2)
    res.end()
  })
  const { get } = await serve(app)
  await get('/', { 'X-User': 'eve' })
  return spent
}

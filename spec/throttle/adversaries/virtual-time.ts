import type { TestContext } from 'node:test'
import express from 'express'
import { throttle } from '../../../lib'
import { listen } from '../../support/serve'
import { steppedClock, turn } from '../../support/stepped-clock'
import { until } from '../../support/until'
import { type Attack, Client, beQuick, handleAttack } from './attacks'
import { modelStores } from './model-stores'

const LIMIT_MS = 18_000
const WINDOWS = 20
/** So many requests of an attacker are open at a time: more than may run. */
const OPEN = 40

/**
 * What an attacker gets of an API at default terms, over sockets that are real and in time that is the spec's. In
 * limits: by the requests that began in the first window, and on average.
 *
 * @param processes so many share a store; one has none
 * @param isMoving he asks one process only, in each window another
 */
export async function attack(
  t: TestContext,
  { tricks, isQuickFirst, isOnNewRoutes }: Attack,
  ms: number,
  processes: number,
  isMoving = false,
) {
  const clock = steppedClock()
  const stores = processes === 1 ? [{}] : modelStores(processes, clock).map((store) => ({ store }))
  const throttles = stores.map((store) => throttle({ subject: () => 'eve', clock, ...store }))
  // Without a store nothing is awaited that comes by another way than the sockets.
  const passUntil = async (endMs: number) =>
    processes === 1 ? clock.advance(Math.max(0, endMs - clock.now())) : clock.passUntil(endMs)
  const clients = new Map<string, Client>()
  let [heard, running, begun, sent, window] = [0, 0, 0, 0, 0]
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
  const servers = await Promise.all(throttles.map((throttled) => listen(express().use(throttled, work))))
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
  const askMore = async (path: string) => {
    const more = (await usage()).spentMs > LIMIT_MS ? 0 : OPEN - clients.size
    const known = heard + more
    for (let i = 0; i < more; i++) {
      const { port } = servers[(isMoving ? window : sent++) % processes] as { port: number }
      const client = new Client(port, path, 'eve', tricks[i % tricks.length] ?? 'slow')
      clients.set(client.id, client)
    }
    await until(() => heard === known)
    await settled()
  }
  let first = 0
  await passUntil(await windowEnd())
  for (; window < WINDOWS; window++) {
    const path = isOnNewRoutes ? `/r${window}` : '/r'
    const endsAt = await windowEnd()
    if (isQuickFirst) {
      const known = servers.reduce((sum, { url }) => sum + beQuick(url + path, 'eve', tricks), heard)
      await until(() => heard === known)
    }
    while (clock.now() < endsAt) {
      await askMore(path)
      for (const client of clients.values()) client.dribble()
      await settled()
      await passUntil(running + clients.size === 0 ? endsAt : Math.min(endsAt, clock.now() + ms / 2))
      await settled()
    }
    if (window === 0) first = begun
  }
  return { first: (first * ms) / LIMIT_MS, average: (begun * ms) / LIMIT_MS / WINDOWS }
}

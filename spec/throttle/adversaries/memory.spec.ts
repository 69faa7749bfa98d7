import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import express from 'express'
import { throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { listen } from '../../support/serve'
import { until } from '../../support/until'
import { ATTACKS, type Attack, Client, beQuick, handleAttack } from './attacks'
import { promised } from './promise'

const LIMIT_MS = 18_000
const WINDOWS = 20
/** So many requests of an attacker are open at a time: more than may run. */
const OPEN = 40
/** How long a request of an attacker runs. For all columns of the docs: `ADVERSARY_S='2 18 60'`, which takes a minute. */
const DURATIONS = (process.env.ADVERSARY_S ?? '18').split(' ')

/**
 * What an attacker gets of an API at default terms, over sockets that are real and in time that is the spec's. In
 * limits: by the requests that began in the first window, and on average.
 */
async function attack(t: TestContext, { tricks, isQuickFirst, isOnNewRoutes }: Attack, ms: number) {
  const clock = manualClock()
  const throttled = throttle({ subject: () => 'eve', clock })
  const clients = new Map<string, Client>()
  let heard = 0
  let running = 0
  let begun = 0
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
  const { port, server, url, close } = await listen(express().use(throttled, work))
  server.on('request', () => heard++)
  t.after(close)
  t.after(() => clients.forEach((client) => client.destroy()))
  const usage = async () => (await throttled.usage('eve'))[0] as { spentMs: number; endsInMs: number }
  const windowEnd = async () => Math.ceil(clock.now() + (await usage()).endsInMs)
  const settled = async () => {
    for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
    for (const [id, { isOver }] of clients) if (isOver) clients.delete(id)
  }
  const askMore = async (path: string) => {
    const sent = (await usage()).spentMs > LIMIT_MS ? 0 : OPEN - clients.size
    const known = heard + sent
    for (let i = 0; i < sent; i++) {
      const client = new Client(port, path, 'eve', tricks[i % tricks.length] ?? 'slow')
      clients.set(client.id, client)
    }
    await until(() => heard === known)
    await settled()
  }
  let first = 0
  clock.advance(await windowEnd())
  for (let window = 0; window < WINDOWS; window++) {
    const path = isOnNewRoutes ? `/r${window}` : '/r'
    const endsAt = await windowEnd()
    if (isQuickFirst) {
      const known = heard + beQuick(url + path, 'eve', tricks)
      await until(() => heard === known)
    }
    while (clock.now() < endsAt) {
      await askMore(path)
      for (const client of clients.values()) client.dribble()
      await settled()
      const leftMs = endsAt - clock.now()
      clock.advance(running + clients.size === 0 ? leftMs : Math.min(ms / 2, leftMs))
      await settled()
    }
    if (window === 0) first = begun
  }
  return { first: (first * ms) / LIMIT_MS, average: (begun * ms) / LIMIT_MS / WINDOWS }
}

for (const seconds of DURATIONS) {
  describe(`throttle() gives an attacker with requests of ${seconds} s no more than docs/security.md says`, () => {
    for (const [row, attacks] of Object.entries(ATTACKS)) {
      for (const each of attacks)
        it(`${row}${each.isQuickFirst && each.isOnNewRoutes ? ', each window on a new route' : ''}`, async (t) => {
          const got = await attack(t, each, Number(seconds) * 1_000)
          const most = promised(row, seconds)
          t.diagnostic(JSON.stringify({ got, most }))
          assert.ok(got.first <= most.first + 0.05, `first window: ${got.first} of ${most.first}`)
          assert.ok(got.average <= most.average + 0.05, `average: ${got.average} of ${most.average}`)
        })
    }
  })
}

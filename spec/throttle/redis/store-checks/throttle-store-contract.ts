import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type AccountStore, opaqueStore } from '../../../../lib/throttle/store/store'
import type { ThrottleOptions } from '../../../../lib/throttle/options'
import { type ThrottledApp, eventually, throttledApp } from './throttled-app'
import { unreliableStore } from './unreliable-store'

/** One promise of a store, to be given to a test runner. */
export interface StoreCheck {
  /** What must hold, such as `adds up what several processes charge`. */
  readonly title: string
  /** Resolves where it holds. Takes up to some seconds. */
  readonly run: () => Promise<void>
}

/** What a subject may consist of: nothing of it may meet the store's own syntax. */
const SUBJECTS = [
  'ada',
  'Ada',
  '=',
  ':',
  '{a}',
  '}{',
  'a\nb',
  '*1\r\n$4\r\nPING',
  '\0',
  'é',
  'e\u0301',
  '☕'.repeat(500),
]

/**
 * What every store for `throttle({ store })` must do, as a list of checks. They see the store as a throttle does: each
 * runs throttles over it, as processes of their own, under a window name and subjects that nothing else has, so that
 * the store need not be empty.
 *
 * @example for (const { title, run } of throttleStoreContract(() => server.store())) test(title, run)
 * @param connect makes the store of one more process; all of them must lie over the same data
 */
export function throttleStoreContract(connect: () => AccountStore): StoreCheck[] {
  return Object.entries(CHECKS).map(([title, check]) => ({
    title,
    async run() {
      const apps: ThrottledApp[] = []
      const name = `contract-${randomUUID()}`
      const start: Start = async (options = {}) => {
        const app = await throttledApp({ name, ...options, store: options.store ?? opaqueStore(connect()) })
        apps.push(app)
        return app
      }
      try {
        await check(start, connect)
      } finally {
        await Promise.all(apps.map((app) => app.close()))
      }
    },
  }))
}

/** Starts one more process. Its windows last a day, and its limit is 10 seconds. */
type Start = (options?: ThrottleOptions) => Promise<ThrottledApp>

const CHECKS: Record<string, (start: Start, connect: () => AccountStore) => Promise<void>> = {
  async 'keeps one clock in whole microseconds, which does not go back'(_start, connect) {
    const store = connect()
    try {
      store.watch({ ready: () => undefined, gone: () => undefined })
      const answers = () =>
        store
          .serverOf('ada')
          .beat()
          .then(Boolean, () => false)
      await eventually('the server of a subject answers beat()', answers)
      const server = store.serverOf('ada')
      const times: number[] = []
      for (let i = 0; i < 20; i++) times.push((await server.beat()).time)
      assert.ok(times.every(Number.isSafeInteger), `beat() says ${times.join(', ')}`)
      assert.ok(
        times.every((time, i) => time >= (times[i - 1] ?? 0)),
        `beat() says ${times.join(', ')}`,
      )
    } finally {
      await store.close()
      await store.close() // safe to call twice
    }
  },

  async 'adds up what several processes charge, and each of them refuses when it is too much'(start) {
    const [one, other] = [await start(), await start()]
    assert.equal((await one.charge('ada', 6_000)).status, 200)
    await eventually('the other process knows', async () => (await other.spentMs('ada')) >= 6_000)
    assert.equal((await other.charge('ada', 4_001)).status, 200)
    assert.equal((await other.charge('ada', 0)).status, 429)
    await eventually('the first one refuses', async () => (await one.charge('ada', 0)).status === 429)
    assert.equal((await one.charge('bob', 0)).status, 200)
  },

  async 'loses nothing that eight processes charge at once'(start) {
    const apps = await Promise.all(Array.from({ length: 8 }, () => start({ limitMs: 1_000_000 })))
    await Promise.all(apps.flatMap((app) => Array.from({ length: 20 }, () => app.charge('ada', 500))))
    for (const app of apps) {
      await eventually('the whole sum', async () => (await app.spentMs('ada')) >= 80_000)
      const spentMs = await app.spentMs('ada')
      assert.ok(spentMs < 90_000, `160 charges of 500 ms came to ${spentMs} ms`)
    }
  },

  async 'does nothing for a command that comes late or again'(start, connect) {
    const store = unreliableStore(connect())
    const [one, other] = [
      await start({ store: opaqueStore(store), limitMs: 1_000_000 }),
      await start({ limitMs: 1_000_000 }),
    ]
    for (let i = 0; i < 20; i++) {
      await one.charge('ada', 500)
      await other.charge('ada', 500)
    }
    await store.settled()
    await eventually('the whole sum', async () => (await other.spentMs('ada')) >= 20_000)
    const spentMs = await other.spentMs('ada')
    assert.ok(spentMs < 22_000, `40 charges of 500 ms came to ${spentMs} ms`)
  },

  async 'keeps subjects apart whatever they are made of'(start) {
    const [one, other] = [await start({ limitMs: 1_000_000 }), await start({ limitMs: 1_000_000 })]
    for (const [i, subject] of SUBJECTS.entries()) await one.charge(subject, (i + 1) * 1_000)
    for (const [i, subject] of SUBJECTS.entries()) {
      const least = (i + 1) * 1_000
      await eventually('its charge', async () => (await other.spentMs(subject)) >= least)
      const spentMs = await other.spentMs(subject)
      assert.ok(spentMs < least + 500, `${JSON.stringify(subject.slice(0, 20))}: ${spentMs} ms`)
    }
  },

  async 'keeps windows of different names apart'(start) {
    const [one, other] = [await start(), await start({ name: `contract-${randomUUID()}` })]
    await one.charge('ada', 10_001)
    assert.equal((await one.charge('ada', 0)).status, 429)
    assert.equal((await other.charge('ada', 0)).status, 200)
  },

  async 'holds time for requests in flight, over all processes, and gives it back'(start) {
    const apps = [await start(), await start()]
    const running = () => apps.flatMap((app) => app.running)
    const statuses: number[] = []
    const asked = Array.from({ length: 40 }, async (_, i) => {
      statuses.push((await (apps[i % 2] as ThrottledApp).wait('ada')).status)
    })
    await eventually('all are decided', () => running().length + statuses.length === 40)
    const held = running().length
    // 20 requests of a twentieth of the limit, which is what a route not known yet is expected to take.
    assert.ok(held >= 1 && held <= 21, `${held} of 40 run`)
    assert.ok(statuses.every((status) => status === 429))
    for (const end of running()) end()
    await Promise.all(asked)
    await apps[0]?.throttled.reset('ada') // of what they took, not of what was held
    await eventually('requests are admitted again', async () => (await apps[0]?.charge('ada', 0))?.status === 200)
  },

  async 'forgets a window at its end, and lets in a client that waited for Retry-After'(start) {
    const [one, other] = [await start({ windowMs: 1_200 }), await start({ windowMs: 1_200 })]
    for (let round = 0; round < 2; round++) {
      let refused
      do {
        await eventually('a new window', async () => (await one.charge('ada', 10_001)).status === 200)
        refused = await one.charge('ada', 0)
      } while (refused.status !== 429) // the window ended in between
      await new Promise((resolve) => setTimeout(resolve, refused.retryAfterSec * 1_000))
      assert.equal((await one.charge('ada', 0)).status, 200)
      assert.equal((await other.charge('ada', 0)).status, 200)
    }
  },

  async 'keeps what a process charged when that process closes'(start) {
    const [one, other] = [await start(), await start()]
    await one.charge('ada', 7_000)
    await one.throttled.close()
    await eventually('the charge', async () => (await other.spentMs('ada')) >= 7_000)
    const third = await start()
    await eventually('the charge, to one that came later', async () => (await third.spentMs('ada')) >= 7_000)
  },

  async 'gives a window back to all processes with reset()'(start) {
    const [one, other] = [await start(), await start()]
    await one.charge('ada', 10_001)
    await eventually('the other one refuses', async () => (await other.charge('ada', 0)).status === 429)
    await other.throttled.reset('ada')
    assert.equal((await other.charge('ada', 0)).status, 200)
    await eventually('the first one knows', async () => (await one.spentMs('ada')) < 1_000)
    assert.equal((await one.charge('ada', 0)).status, 200)
  },
}

// Requests that wait for room: who starts, who is refused, with which reason and Retry-After.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type RefusedMessage, ThrottledError, type ThrottleOptions } from '../../../lib'
import { tooMany } from '../../../lib/throttle/request/refusal'
import { heldApi } from './held-api'
import { heard } from '../../support/heard'
import { assertIs, between, above, until } from '../../support/until'

/** Requests wait for 5 s, as by default, and no window ends amid a spec. */
const WAITING = { windowMs: 2_592_000_000, wait: undefined } satisfies ThrottleOptions

type Api = Awaited<ReturnType<typeof heldApi>>
type Client = Awaited<ReturnType<Api['open']>>

const isAnswered = ({ text }: Client) => text.includes('\r\n\r\n')
const statusOf = ({ text }: Client) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])
const numberOf = ({ text }: Client, field: string) => Number(new RegExp(`^${field}: (\\d+)\\r$`, 'im').exec(text)?.[1])

/** Clients that ask one after the other. */
async function clients({ open }: Api, count: number, fields = ''): Promise<Client[]> {
  const asked: Client[] = []
  while (asked.length < count) asked.push(await open(`/work?n=${asked.length}`, fields))
  return asked
}

/** Has handlers take so long until all are answered. Returns the statuses, and the requests in the order they began. */
async function answers({ clock, running, endAll }: Api, asked: readonly Client[], workMs: number) {
  const order: number[] = []
  while (!asked.every(isAnswered)) {
    order.push(...running.map(({ req }) => Number(req.query.n)))
    clock.advance(running.length > 0 ? workMs : 1)
    endAll()
    await new Promise(setImmediate)
  }
  const counts: Record<number, number> = {}
  for (const client of asked) counts[statusOf(client)] = (counts[statusOf(client)] ?? 0) + 1
  return { counts, order }
}

const byUser = (req: { get(field: string): string | undefined }) => req.get('X-User') ?? 'ada'

describe('throttle() lets a request wait that fits in what is left, but not beside the holds', () => {
  for (const limitMs of [18_000, 5_000, 1_000])
    it(`refuses none of six parallel calls on a route that nobody knows yet: limitMs: ${limitMs}`, async (t) => {
      const api = await heldApi(t, { ...WAITING, limitMs })
      assert.deepEqual((await answers(api, await clients(api, 6), 30)).counts, { 200: 6 })
    })

  it('refuses none of a fresh user on a route where another one was slow', async (t) => {
    const api = await heldApi(t, { ...WAITING, limitMs: 2_000, subject: byUser })
    await answers(api, await clients(api, 4, 'X-User: slow\r\n'), 400)
    for (let user = 0; user < 5; user++) {
      const asked = await clients(api, 6, `X-User: user-${user}\r\n`)
      assert.deepEqual((await answers(api, asked, 10)).counts, { 200: 6 })
    }
  })

  it('admits no more than the limit and the longest request, though 300 come at once', async (t) => {
    const api = await heldApi(t, { ...WAITING, wait: { perSubject: 1_000 } })
    const { counts, order } = await answers(api, await clients(api, 300), 100)
    assert.deepEqual(counts, { 200: order.length, 429: 300 - order.length })
    assertIs(order.length, between(9, 11), `${order.length} of 100 ms`)
  })

  it('charges nothing for the wait, and counts none of it as processing time', async (t) => {
    const api = await heldApi(t, WAITING)
    const asked = await clients(api, 8)
    assert.deepEqual((await answers(api, asked, 60)).counts, { 200: 8 })
    for (const client of asked) assert.equal(numberOf(client, 'X-PROCESSING-TIME'), 60)
    assert.equal(Math.max(...asked.map((client) => numberOf(client, 'X-THROTTLE-MILLIS-USED'))), 8 * 60)
  })

  it('lets requests of other subjects pass while 200 of one wait or are refused', async (t) => {
    const api = await heldApi(t, { ...WAITING, subject: byUser })
    await clients(api, 200, 'X-User: crowd\r\n')
    const before = api.running.length
    for (let user = 0; user < 20; user++) await api.open('/work', `X-User: user-${user}\r\n`)
    assert.equal(api.running.length, before + 20)
  })
})

describe('throttle() says why it refuses', () => {
  it('spent: with the end of the window as Retry-After', async (t) => {
    const told = heard<RefusedMessage>(t, 'refused')
    const api = await heldApi(t, { ...WAITING, limitMs: 1 })
    await api.burst(1)
    api.clock.advance(20)
    api.endAll()
    const client = await api.open('/work')
    await until(() => isAnswered(client))
    const { endsInMs } = (await api.throttled.usage('ada'))[0] as { endsInMs: number }
    assert.deepEqual([statusOf(client), numberOf(client, 'Retry-After')], [429, Math.ceil(endsInMs / 1_000)])
    assert.deepEqual([told[0]?.reason, told[0]?.figures?.spentMs, told[0]?.figures?.limitMs], ['spent', 20, 1])
  })

  for (const [limitMs, retryAfterSec] of [
    [2_000, 1],
    [8_000, 3], // the time that a first request reserves
  ] as const)
    // prettier-ignore
    it(`reserved: after the longest wait, with the end of a hold as Retry-After, a second at least: limitMs: ${limitMs}`, async (t) => {
      const told = heard<RefusedMessage>(t, 'refused')
      const api = await heldApi(t, { ...WAITING, limitMs, wait: { maxMs: 100 } })
      const [, , refused] = (await clients(api, 3)) as [Client, Client, Client]
      assert.equal(told.length, 0)
      api.clock.advance(100)
      await until(() => isAnswered(refused))
      assert.deepEqual([statusOf(refused), numberOf(refused, 'Retry-After')], [429, retryAfterSec])
      assert.deepEqual([told[0]?.reason, told[0]?.figures?.spentMs], ['reserved', 200])
    })

  it('queue: at once, where too many wait', async (t) => {
    const told = heard<RefusedMessage>(t, 'refused')
    const api = await heldApi(t, { ...WAITING, limitMs: 6_000, wait: { perSubject: 3 } })
    const asked = await clients(api, 10)
    assert.equal(api.running.length, 2)
    assert.deepEqual(told.map(({ reason }) => reason), Array(5).fill('queue')) // prettier-ignore
    assert.deepEqual((await answers(api, asked, 1_000)).counts, { 200: 5, 429: 5 })
  })

  it('in the body, in words that are true of the reason', async (t) => {
    for (const [options, reason] of [
      [{ limitMs: 1 }, 'No processing time is left in the window "default" for this request'],
      [
        { limitMs: 6_000, wait: false },
        'Running requests have reserved what is left in the window "default". Try again when they have ended',
      ],
      [
        { limitMs: 6_000, wait: { perSubject: 1 } },
        'Too many requests wait already for processing time in the window "default". Send fewer at the same time',
      ],
    ] as const) {
      const api = await heldApi(t, { ...WAITING, ...options, errorFormat: 'problem' })
      const refused = (await clients(api, 6)).filter((_client, i) => i > 2)
      await answers(api, refused, 20)
      const bodies = refused.filter((client) => statusOf(client) === 429).map(({ text }) => text.split('\r\n\r\n')[1])
      assertIs(bodies.length, above(0))
      for (const body of bodies) assert.equal((JSON.parse(body ?? '') as { detail: string }).detail, reason)
    }
    assert.match(
      tooMany({ reason: 'outage', figures: { window: 'default' } as never, retryAfterUs: 1 }, 1).message,
      /^Less processing time than usual can be granted in the window "def/,
    )
  })

  it('on the error, for onDenied', async (t) => {
    const errors: unknown[] = []
    const onDenied: ThrottleOptions['onDenied'] = (err, _req, res) => {
      errors.push(err)
      res.status(429).end()
    }
    await (await heldApi(t, { limitMs: 6_000, onDenied })).burst(4)
    assert.equal(errors.length, 2)
    const [err] = errors
    assert.ok(err instanceof ThrottledError)
    const { window, heldMs, othersAgeMs } = err.figures
    assert.deepEqual([err.reason, window, heldMs, othersAgeMs], ['reserved', 'default', 6_000, null])
  })
})

describe('throttle() and a waiting request whose client goes', () => {
  it('lets go of it, and its place is free', async (t) => {
    const told = heard<RefusedMessage>(t, 'refused')
    const api = await heldApi(t, { ...WAITING, limitMs: 6_000, wait: { perSubject: 1 } })
    assert.equal(await api.burst(2), 2)
    const left = await api.open('/work?n=1')
    left.destroy()
    await until(async () => {
      api.clock.advance(5) // the line is looked at
      const refused = told.length
      await api.open('/work?n=2')
      return told.length === refused // it waits
    })
    api.endAll()
    await until(() => api.running.length, above(0))
    assert.deepEqual(api.running.map(({ req }) => req.query.n), ['2']) // prettier-ignore
  })
})

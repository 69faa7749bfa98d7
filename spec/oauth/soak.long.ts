import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type Server, startRedis } from '../support/redis'
import { assertIs, below } from '../support/until'
import { type ChildServer, startChild } from './processes/spawn'
import { AS_WEB, SIGNING_KEY, VERIFIER, json, post, postJson } from './support'
import { UserAgent, request } from './user-agent'

/**
 * Minutes of load. Figures are printed at the start, each ten minutes or sooner, and at the end. For an hour:
 * `SOAK_MIN=60 npm run test:long -- oauth/soak --test-timeout=5400000`
 */
const MINUTES = Number(process.env.SOAK_MIN ?? 0.25)
const [A_SECOND, SHOWN_EVERY_S] = [Number(process.env.SOAK_RATE ?? 50), Math.min(600, MINUTES * 15)]
/** Windows, counters and codes have ended by then. */
const REST_S = Math.min(75, MINUTES * 60)

/** Strangers of many blocks, one of which asks for half of all; users; an app with a secret. In turn. */
const addressOf = (n: number) => (n % 2 === 0 ? '198.51.100.7' : `${20 + (n % 180)}.${n % 250}.${(n >> 3) % 250}.9`)
const USERS = Array.from({ length: 20 }, (_, i) => `user-${i}`)
const WEB = request({ client_id: 'web' })

/** Keys of a user: 32 grants of a code, two refresh tokens and a device's counter each, 32 sessions, and lists and counters. */
const KEYS_OF_USER = 5 * 32 + 20
/** Keys of strangers: limits by address and block, pushed requests of a minute. */
const KEYS_OF_STRANGERS = 2_000
/** Keys that an action leaves for an hour or longer: a registration, and the revocations of the grant and of its token. */
const LASTING: Readonly<Record<string, number>> = { 'action 4 201': 1, 'signIn 200': 2, 'signIn 401': 2 }

interface Load {
  readonly heapMb: number
  readonly handles: number
}

type Ask = (origin: string, n: number) => Promise<number>

const ACTIONS: readonly Ask[] = [
  async (origin, n) => (await fetch(`${origin}/as/authorization?${formOf(WEB)}`, from(n))).status,
  async (origin, n) => (await fetch(`${origin}/open`, from(n))).status,
  async (origin, n) => (await fetch(`${origin}/mine`, from(n, `Bearer made-up-${n}`))).status,
  async (origin, n) => {
    const spa = request({ client_id: 'spa', redirect_uri: 'https://spa.test/cb' })
    return (await post(`${origin}/as/par`, spa, from(n).headers)).status
  },
  async (origin, n) => {
    const metadata = { redirect_uris: [`https://a${n}.test/cb`], token_endpoint_auth_method: 'none' }
    return (await postJson(`${origin}/as/register`, metadata, from(n).headers)).status
  },
  async (origin) =>
    (await post(`${origin}/as/token`, { grant_type: 'client_credentials', scope: 'tree.read' }, AS_WEB)).status,
  signIn,
]

/** Each tenth one signs in, calls the API, refreshes, and revokes its grant half of the time. */
async function signIn(origin: string, n: number): Promise<number> {
  const agent = new UserAgent(origin)
  let page = await agent.authorize(`${origin}/as`, WEB)
  page = await (await page.logIn(USERS[n % USERS.length])).finish()
  const form = { grant_type: 'authorization_code', redirect_uri: 'https://client.test/cb', code_verifier: VERIFIER }
  const tokens = await json(await post(`${origin}/as/token`, { ...form, code: page.params.get('code') ?? '' }, AS_WEB))
  const called = await fetch(`${origin}/mine`, from(n, `Bearer ${String(tokens.access_token)}`))
  if (n % 2 === 0) await post(`${origin}/as/revoke`, { token: String(tokens.access_token) }, AS_WEB)
  return called.status
}

function from(n: number, authorization?: string) {
  return { headers: { 'x-forwarded-for': addressOf(n), ...(authorization !== undefined && { authorization }) } }
}

function formOf(form: Readonly<Record<string, string>>): string {
  return new URLSearchParams(form).toString()
}

describe(`strangers, users and apps for ${MINUTES} minutes at ${A_SECOND} requests a second`, () => {
  let redis: Server
  let asked: Redis
  let children: ChildServer[]
  before(async () => {
    redis = await startRedis()
    asked = new Redis(redis.url)
    const pem = SIGNING_KEY.export({ type: 'pkcs8', format: 'pem' })
    const stores = [{ redis: redis.url }, { redis: redis.url }, {}]
    children = await Promise.all(stores.map((store) => startChild('soaked', { ...store, pem, users: USERS })))
  })
  after(async () => {
    await Promise.all(children.map((child) => child.kill()))
    asked.disconnect()
    await redis.stop()
  })

  it('leave heap, handles and keys as they were, and nobody a 5xx', async (t) => {
    const statuses = new Map<string, number>()
    let mostKeys = USERS.length * KEYS_OF_USER + KEYS_OF_STRANGERS
    const figures = async (when: string) => {
      const loads = await Promise.all(
        children.map(async ({ origin }) => (await (await fetch(`${origin}/load`)).json()) as Load),
      )
      const shown = loads.map(({ heapMb, handles }) => `${heapMb} MB, ${handles} handles`)
      const keys = await asked.dbsize()
      console.log(`${when}: ${[...shown, `${keys} keys, at most ${mostKeys}`].join(' | ')}`) // at once: a run takes an hour
      assertIs(keys, below(mostKeys), `keys, ${when}`)
      return loads
    }
    const ask = async (n: number) => {
      const at = n % 10
      const action = ACTIONS[at < ACTIONS.length ? at : at % 3] ?? signIn
      const child = Math.floor(n / 10) % children.length
      const { origin } = children[child] as ChildServer
      const status = await action(origin, n).catch((err: unknown) => String(err))
      const name = `${action.name || `action ${ACTIONS.indexOf(action)}`} ${status}`
      statuses.set(name, (statuses.get(name) ?? 0) + 1)
      if (child < 2) mostKeys += LASTING[name] ?? 0 // over Redis
    }
    for (let n = 0; n < 400; n++) await ask(n) // code and connections that come once
    const before = await figures('start')
    const begin = performance.now()
    const seconds = () => (performance.now() - begin) / 1_000
    let shownAt = SHOWN_EVERY_S
    const underWay = new Set<Promise<void>>()
    for (let n = 400; seconds() < MINUTES * 60; n++) {
      const one = ask(n).finally(() => underWay.delete(one))
      underWay.add(one)
      await sleep(Math.max(0, (n - 400) * (1_000 / A_SECOND) - seconds() * 1_000))
      if (underWay.size > A_SECOND) await Promise.race(underWay)
      if (seconds() < shownAt) continue
      await figures(`${Math.round(shownAt / 60)} min`)
      shownAt += SHOWN_EVERY_S
    }
    await Promise.all(underWay)
    await figures('end')
    await sleep(REST_S * 1_000)
    const rested = await figures(`${REST_S} s later`)
    t.diagnostic([...statuses].map(([name, count]) => `${name}: ${count}`).join(', '))
    assert.deepEqual(
      [...statuses.keys()].filter((name) => !/ [234]\d\d$/.test(name)),
      [],
    )
    for (const [i, { heapMb, handles }] of rested.entries()) {
      const { heapMb: heapBefore, handles: handlesBefore } = before[i] as Load
      assertIs(heapMb, below(heapBefore + 40), `heap of process ${i}`) // 20 MB of records, and as much around them
      assertIs(handles, below(handlesBefore + 10), `handles of process ${i}`)
    }
  })
})

import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { type TestContext, after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ChildServer, startChild } from './processes/spawn'
import { type Form } from './support'
import { UserAgent, request } from './user-agent'
import { assertIs, below, above } from '../support/until'

/** Who attacks: the address of each request. */
const ATTACKERS: Readonly<Record<string, (i: number) => string>> = {
  'one address': () => '198.51.100.7',
  'ten /56 of one /48': (i) => `2001:db8:77:${(i % 10) + 1}00::1`,
  'four blocks': (i) =>
    [`198.51.100.${i % 200}`, `2001:db8:${i % 900}::1`, `192.0.2.${i % 200}`, `2001:db9:${i % 900}::1`][
      i % 4
    ] as string,
}
const CONNECTIONS = 48
const SECONDS = Number(process.env.ATTACK_S ?? 1)

interface Origins {
  readonly ownPage: string
  readonly builtIn: string
  readonly api: string
}
interface Load {
  readonly delayMs: number
  readonly mostMs: number
  readonly heapMb: number
}
type Ask = (address: string, i: number) => Promise<number>

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS + 8 })

function send(url: string, headers: Form, body?: string): Promise<number> {
  return new Promise((resolve) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = httpRequest(url, { agent, method, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', () => resolve(0)).end(body)
  })
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const formOf = (form: Form) => new URLSearchParams(form).toString()
const SPA = request({ client_id: 'spa', redirect_uri: 'https://spa.test/cb' })

/** For each thing that is attacked: the attacker's request, the honest user's, and the answer to that. */
function targetsOf({ ownPage, builtIn, api }: Origins) {
  const login = async (address: string, name: string, password: string) => {
    const page = await new UserAgent(builtIn).authorize(`${builtIn}/as`, request())
    const fields = { username: name, password, action: 'login' }
    return (await page.submit(fields, { 'x-forwarded-for': address })).status
  }
  const register = (address: string, i: number) => {
    const body = JSON.stringify({
      redirect_uris: [`https://a${i}.test/${address.replaceAll(':', '-')}`],
      token_endpoint_auth_method: 'none',
    })
    return send(`${ownPage}/as/register`, { 'content-type': 'application/json', 'x-forwarded-for': address }, body)
  }
  const document = (host: string, address: string, i: number) => {
    const app = {
      client_id: `https://${host}/${address.replaceAll(':', '-')}/${i}`,
      redirect_uri: 'https://good.test/cb',
    }
    return send(`${builtIn}/as/authorization?${formOf(request(app))}`, { 'x-forwarded-for': address })
  }
  const begin = (address: string) =>
    send(
      `${ownPage}/as/authorization`,
      { ...FORM, 'x-forwarded-for': address },
      formOf(request({ state: 'x'.repeat(15_000) })),
    )
  const push = (address: string) => send(`${ownPage}/as/par`, { ...FORM, 'x-forwarded-for': address }, formOf(SPA))
  const bearer = (token: string, address: string) =>
    send(api, { authorization: `Bearer ${token}`, 'x-forwarded-for': address })
  return {
    'sign-in at an own page': [begin, begin, 303],
    'sign-in at the built-in page': [
      (address, i) => login(address, `user-${i}`, 'a wrong guess'),
      (address) => login(address, 'ada', 'analytical engine'),
      303,
    ],
    registration: [register, register, 201],
    'metadata documents': [
      (address, i) => document('slow.test', address, i),
      (address, i) => document('good.test', address, i),
      200,
    ],
    'pushed requests': [push, push, 201],
    introspection: [
      (address, i) => bearer(`made-up-${i}`, address),
      (address, i) => bearer(`good-${address}-${i}`.replaceAll(':', '-'), address),
      200,
    ],
  } as const satisfies Record<string, readonly [attack: Ask, honest: Ask, answer: number]>
}

describe('strangers that attack at full rate', () => {
  let child: ChildServer
  let origins: Origins
  before(async () => {
    child = await startChild('attacked', { maxBytes: 60_000_000 })
    origins = (await (await fetch(child.origin)).json()) as Origins
  })
  after(() => child.kill())

  const load = async (origin: string) => (await (await fetch(`${origin}/load`)).json()) as Load
  const total = async () => await load(origins.ownPage) // one process
  const shown = ({ heapMb, delayMs, mostMs }: Load) => `${heapMb} MB, ${delayMs} ms (${mostMs})`

  /** Each run has honest users of a block of their own. */
  let run = 0

  async function attacked(t: TestContext, what: keyof ReturnType<typeof targetsOf>, who: string): Promise<void> {
    const [attack, honest, answer] = targetsOf(origins)[what]
    const addressOf = ATTACKERS[who] as (i: number) => string
    run++
    await total()
    await sleep(500)
    const calm = await total()
    let isOver = false
    let sent = 0
    const seen = new Map<number, number>()
    const flood = Array.from({ length: CONNECTIONS }, async () => {
      while (!isOver) {
        const i = sent++
        const status = await attack(addressOf(i), i)
        seen.set(status, (seen.get(status) ?? 0) + 1)
      }
    })
    await sleep(1_000)
    const from = sent
    const statuses: number[] = []
    for (let i = 0; i < SECONDS; i++) {
      statuses.push(await honest(`203.${run}.113.${i}`, run * SECONDS + i))
      await sleep(1_000)
    }
    const rate = Math.round((sent - from) / SECONDS)
    const during = await total()
    isOver = true
    await Promise.all(flood)
    await sleep(500)
    const later = await total()
    const flooded = [...seen].map(([status, count]) => `${status}: ${count}`).join(', ')
    t.diagnostic(
      `${what} | ${who} | ${rate}/s (${flooded}) | ${statuses.join(' ')} | ${[calm, during, later].map(shown).join(' | ')}`,
    )
    assert.deepEqual(statuses, Array<number>(SECONDS).fill(answer))
    assertIs(later.heapMb, below(calm.heapMb + 1.3 * 30), `${calm.heapMb} MB before, ${later.heapMb} MB after`)
  }

  for (const what of [
    'sign-in at an own page',
    'sign-in at the built-in page',
    'registration',
    'metadata documents',
    'pushed requests',
    'introspection',
  ] as const) {
    for (const who of Object.keys(ATTACKERS)) {
      it(`${what}, from ${who}: an honest user of another block is served every time`, (t) => attacked(t, what, who))
    }
  }

  it('fill a memoryOAuthStore(): the heap grows by 0.9 to 1.3 times its bound, and users still sign in', async (t) => {
    await child.kill() // the records of the attacks before are in its other store, too
    child = await startChild('attacked', { maxBytes: 60_000_000 })
    origins = (await (await fetch(child.origin)).json()) as Origins
    assert.equal(await targetsOf(origins)['sign-in at an own page'][1]('203.98.0.1'), 303) // code that comes once
    const calm = await total()
    const filled = { ...FORM }
    const body = formOf(request({ state: '\u20ac' + 'x'.repeat(15_000) }))
    let sent = 0
    const blocks = Array.from({ length: 48 }, async () => {
      for (; sent < 6_000; sent++) {
        const address = `198.${sent % 200}.${sent % 7}.1`
        await send(`${origins.ownPage}/as/authorization`, { ...filled, 'x-forwarded-for': address }, body)
      }
    })
    await Promise.all(blocks)
    const full = await total()
    assert.equal(await targetsOf(origins)['sign-in at an own page'][1]('203.99.0.1'), 303)
    t.diagnostic(`${calm.heapMb} MB before, ${full.heapMb} MB after 90 MB of sign-ins, of a bound of 60 MB`)
    assertIs(full.heapMb, above(calm.heapMb + 0.9 * 60), `${calm.heapMb} MB before`)
    assertIs(full.heapMb, below(calm.heapMb + 1.3 * 60), `${calm.heapMb} MB before`)
  })
})

import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { type Server, startRedis } from '../support/redis'
import { until } from '../support/until'
import type { Args } from './processes/authorization-server'
import { type ChildServer, startChild } from './processes/spawn'
import { AS_WEB, SIGNING_KEY, VERIFIER, post } from './support'
import { UserAgent, codeForm } from './user-agent'

/** In full, 100 rounds of 1,000: `npm run test:race`. */
const ROUNDS = Number(process.env.RACE_ROUNDS ?? 3)
const REDEMPTIONS = Number(process.env.RACE_REDEMPTIONS ?? 400)

const ISSUER = 'http://127.0.0.1:1/oauth'

describe(`${REDEMPTIONS} redemptions of one code at once, over two processes on Redis, ${ROUNDS} times`, () => {
  let redis: Server
  before(async () => {
    redis = await startRedis()
  })
  after(() => redis.stop())

  async function withTwo(use: (children: readonly ChildServer[]) => Promise<void>): Promise<void> {
    const pem = SIGNING_KEY.export({ type: 'pkcs8', format: 'pem' }) as string
    const args: Args = { redis: `redis://127.0.0.1:${redis.port}`, issuer: ISSUER, pem }
    const children = await Promise.all([1, 2].map(() => startChild('authorization-server', args)))
    try {
      for (const { origin } of children) await until(() => knowsNoSuchCode(origin))
      await use(children)
    } finally {
      await Promise.all(children.map((child) => child.kill()))
    }
  }

  it(
    'RFC 6749 §4.1.2: exactly one succeeds, every time, and after it no token lives (O123)',
    { timeout: 1_200_000 },
    async () => {
      await withTwo(async (children) => {
        const browser = new UserAgent(children[0]?.origin ?? '')
        for (let round = 0; round < ROUNDS; round++) {
          const answers = await race(children, browser)
          const won = answers.filter(({ status }) => status === 200)
          assert.equal(won.length, 1, `round ${round}`)
          const refused = answers.filter(({ status, error }) => status === 400 && error === 'invalid_grant')
          assert.equal(refused.length, REDEMPTIONS - 1, `round ${round}`)
          for (const { origin } of children) {
            const authorization = `Bearer ${won[0]?.token}`
            assert.equal((await fetch(`${origin}/oauth/userinfo`, { headers: { authorization } })).status, 401)
          }
        }
      })
    },
  )
})

/** Whether its store answers about a code that was never given; until then it says 503. */
async function knowsNoSuchCode(origin: string): Promise<boolean> {
  const redirect_uri = 'https://client.test/cb'
  const form = { grant_type: 'authorization_code', code: 'none', redirect_uri, code_verifier: VERIFIER }
  return (await post(`${origin}/oauth/token`, form, AS_WEB)).status === 400
}

interface Answer {
  readonly status: number
  readonly error: string | undefined
  readonly token: string | undefined
}

/** One code, redeemed by all at once, half in each process. */
async function race(children: readonly ChildServer[], browser: UserAgent): Promise<Answer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: Infinity })
  const all = (path: string, body?: string) =>
    Promise.all(Array.from({ length: REDEMPTIONS }, (_, i) => send(`${children[i % 2]?.origin}${path}`, agent, body)))
  await all('/oauth/jwks') // every connection is open before the first redemption
  const answers = await all('/oauth/token', new URLSearchParams(await codeForm(ISSUER, {}, browser)).toString())
  agent.destroy()
  return answers
}

function send(url: string, agent: Agent, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { ...AS_WEB, 'content-type': 'application/x-www-form-urlencoded' }
    const req = httpRequest(url, { method: body === undefined ? 'GET' : 'POST', headers, agent }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => {
        const said = JSON.parse(Buffer.concat(chunks).toString()) as { error?: string; access_token?: string }
        resolve({ status: res.statusCode ?? 0, error: said.error, token: said.access_token })
      })
    })
    req.on('error', reject)
    req.end(body)
  })
}

// Honest users of an API at default terms: how long their requests wait, and how many are refused.
import assert from 'node:assert/strict'
import { Agent, type ClientRequest, request } from 'node:http'
import { type TestContext, describe, it } from 'node:test'
import express, { type Request, type Response } from 'express'
import { throttle } from '../../../lib'
import { serve } from '../../support/serve'
import { steppedClock, turn } from '../stepped-clock'
import { Random } from '../simulation/random'
import { assertIs, atMost } from '../../support/until'

/** The default terms. */
const [LIMIT_MS, WINDOW_MS] = [18_000, 60_000]
/** So many windows each user asks for something. */
const WINDOWS = Number(process.env.HONEST_WINDOWS ?? 8)
/**
 * The study's figures are those of 120 windows. Eight scatter around them, and there are seeds with twice as much. With
 * these, the study's own simulation of the same requests stays within its figures. `HONEST_SEED=1` tries another.
 */
const SEED = Number(process.env.HONEST_SEED ?? 50)
/** A part of a page takes so long on average. */
const MEAN_MS = 48.8
/** Routes known from the start: eight other users have asked for each, for 88 ms, so that its price is 99 ms. */
const ROUTES = [
  ...[...'abcdef', 'cold'].map((part) => ['GET', `/page/${part}`] as const),
  ...([
    ['POST', '/upload'],
    ['GET', '/poll'],
  ] as const),
]
const OTHERS = { users: 8, ms: 88 }

/**
 * One user of each kind, and the budget's edge. By the study of the meter: the 99th percentile of what requests wait before
 * they begin, in milliseconds, and the percentage of requests that are refused.
 */
const STUDY: Record<string, { p99Ms: number; refused: number; plan: Plan }> = {
  'pages of 20 at 80 % of the budget': { p99Ms: 106, refused: 0.11, plan: pages(20, 0.8) },
  'pages of 50 at 95 % of the budget': { p99Ms: 641, refused: 0.89, plan: pages(50, 0.95) },
  'a route with a cold cache': { p99Ms: 154, refused: 0.73, plan: coldCache },
  'one slow upload at a time': { p99Ms: 0, refused: 0.5, plan: uploads },
  'polls closed early': { p99Ms: 0, refused: 0, plan: polls },
}

describe('throttle() lets honest users wait and refuses them as little as the study of the meter says', () => {
  for (const [user, { p99Ms, refused, plan }] of Object.entries(STUDY))
    it(user, async (t) => {
      const client = await Client.of(t)
      plan(client, new Random(SEED))
      const got = await client.run()
      t.diagnostic(JSON.stringify({ got, study: { p99Ms, refused } }))
      assertIs(got.p99Ms, atMost(p99Ms), `99 % wait at most ${got.p99Ms} ms, not ${p99Ms}`)
      assertIs(got.refused, atMost(refused), `refused: ${got.refused} %, not ${refused}`)
    })
})

type Plan = (client: Client, random: Random) => void

/** Pages of so many parallel requests, which use a share of the budget on average. */
function pages(parts: number, share: number): Plan {
  return (client, random) => {
    const everyMs = (parts * MEAN_MS * WINDOW_MS) / (share * LIMIT_MS)
    for (let ms = random.fraction() * everyMs; ms < WINDOWS * WINDOW_MS; ms += everyMs * (0.5 + random.fraction()))
      client.askPage(
        ms,
        Array.from({ length: parts }, (_, i) => `/page/${'abcdef'[i % 6]}?ms=${partMs(random)}`),
      )
  }
}

/** One request in 50 takes 3 s, on average of pages of 6 every 3 s. */
function coldCache(client: Client, random: Random): void {
  for (let ms = 0; ms < WINDOWS * WINDOW_MS; ms += 3_000 * (0.5 + random.fraction()))
    client.askPage(
      ms,
      Array.from({ length: 6 }, () => `/page/cold?ms=${random.chance(0.02) ? 3_000 : logNormal(random, 30, 0.5)}`),
    )
}

/** One transfer after the other, beside pages: half take more than 8 s. */
function uploads(client: Client, random: Random): void {
  pages(6, 0.1)(client, random)
  for (let ms = random.fraction() * 30_000; ms < WINDOWS * WINDOW_MS;) {
    const tookMs = logNormal(random, 8_000, 0.8)
    client.upload(ms, tookMs, logNormal(random, 100, 0.5))
    ms += tookMs + random.fraction() * 20_000
  }
}

/** A poll every 10 s that its client closes after 100 ms, beside pages. */
function polls(client: Client, random: Random): void {
  pages(6, 0.1)(client, random)
  for (let ms = random.fraction() * 10_000; ms < WINDOWS * WINDOW_MS; ms += 10_000) client.poll(ms, 100)
}

/** Most parts of a page take about 30 ms; one in 50 up to 3 s. */
function partMs(random: Random): number {
  return random.chance(0.02) ? Math.min(3_000, 100 / (1 - random.fraction()) ** (2 / 3)) : logNormal(random, 30, 0.8)
}

function logNormal(random: Random, median: number, sigma: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.fraction()))
  return median * Math.exp(sigma * radius * Math.cos(2 * Math.PI * random.fraction()))
}

/** An honest user of an API at default terms, over sockets that are real and in time that is the spec's. */
class Client {
  readonly #clock = steppedClock()
  readonly #throttled = throttle({ subject: (req) => req.get('X-User'), clock: this.#clock })
  readonly #agent = new Agent({ keepAlive: true })
  readonly #steps: { readonly atMs: number; readonly run: () => Promise<unknown> }[] = []
  readonly #waitsMs: number[] = []
  #port = 0
  #startMs = 0
  #sent = 0
  #heard = 0
  #refused = 0
  #latest!: { readonly req: Request; readonly res: Response }

  static async of(t: TestContext): Promise<Client> {
    const client = new Client()
    const { port } = await serve(client.#app())
    t.after(() => client.#agent.destroy())
    client.#port = port
    await client.#askAsOthers()
    return client
  }

  /** Requests sent at once. */
  askPage(atMs: number, paths: readonly string[]): void {
    this.#at(atMs, () => {
      for (const path of paths) this.#send('GET', path).end()
      return this.#isHeard()
    })
  }

  /** The last byte of the body is sent `tookMs` after the first. */
  upload(atMs: number, tookMs: number, workMs: number): void {
    let sent: ClientRequest, req: Request
    this.#at(atMs, async () => {
      sent = this.#send('POST', `/upload?ms=${workMs}`).on('error', () => undefined)
      sent.write('a')
      await this.#isHeard()
      req = this.#latest.req
    })
    this.#at(atMs + tookMs, () => {
      sent.end('b')
      return turnsUntil(() => req.complete || req.socket.destroyed)
    })
  }

  poll(atMs: number, openMs: number): void {
    let sent: ClientRequest, req: Request
    this.#at(atMs, async () => {
      sent = this.#send('GET', '/poll').on('error', () => undefined)
      sent.end()
      await this.#isHeard()
      req = this.#latest.req
    })
    this.#at(atMs + openMs, () => {
      sent.destroy()
      return turnsUntil(() => req.socket.destroyed)
    })
  }

  /** Does all of it, and returns what the requests waited and how many percent were refused. */
  async run() {
    for (const { atMs, run } of this.#steps.sort((a, b) => a.atMs - b.atMs)) {
      await this.#clock.passUntil(atMs)
      await run()
      await turn()
    }
    await this.#clock.passUntil(this.#clock.now() + WINDOW_MS)
    await turnsUntil(() => this.#waitsMs.length + this.#refused === this.#sent)
    const sorted = this.#waitsMs.sort((a, b) => a - b)
    const percentile = (share: number) => Math.round(sorted[Math.floor(share * sorted.length)] as number)
    const refused = (100 * this.#refused) / this.#sent
    return { requests: this.#sent, p50Ms: percentile(0.5), p99Ms: percentile(0.99), refused }
  }

  /** What the routes take others is known then. */
  async #askAsOthers(): Promise<void> {
    for (const [method, path] of ROUTES)
      for (let i = 0; i < OTHERS.users; i++)
        this.#send(method, `${path}?ms=${OTHERS.ms}`, { user: `u${i}` }).end(method === 'POST' ? 'ab' : '')
    await this.#isHeard()
    await this.#clock.passUntil(WINDOW_MS)
    assert.equal(this.#waitsMs.length, this.#heard)
    const [window] = await this.#throttled.usage('ada')
    this.#startMs = Math.ceil(this.#clock.now() + (window?.endsInMs ?? 0))
    this.#waitsMs.length = this.#sent = this.#heard = 0
  }

  #app() {
    const clock = this.#clock
    const app = express()
    app.use((req, res, next) => {
      this.#heard++
      this.#latest = { req, res }
      res.locals.askedAtMs = clock.now()
      next()
    })
    app.use(this.#throttled, (_req, res, next) => {
      this.#waitsMs.push(clock.now() - Number(res.locals.askedAtMs))
      next()
    })
    const work = (req: Request, res: Response) => void clock.after(Number(req.query.ms), () => res.end())
    app.get('/page/:part', work)
    app.post('/upload', (req, res) => void req.resume().on('end', () => work(req, res)))
    app.use((req, res, next) => (req.query.ms === undefined ? next() : work(req, res)))
    app.get('/poll', () => undefined)
    return app
  }

  /** `atMs` counts from the start of the first window. */
  #at(atMs: number, run: () => Promise<unknown>): void {
    this.#steps.push({ atMs: this.#startMs + atMs, run })
  }

  #send(method: string, path: string, { user = 'ada' } = {}): ClientRequest {
    this.#sent++
    const headers = { 'X-User': user, ...(method === 'POST' && { 'Content-Length': 2 }) }
    const sent = request({ port: this.#port, host: '127.0.0.1', agent: this.#agent, path, method, headers })
    return sent.on('response', (answer) => {
      if (answer.statusCode === 429) this.#refused++
      answer.resume()
    })
  }

  #isHeard(): Promise<void> {
    return turnsUntil(() => this.#heard === this.#sent)
  }
}

/** What is awaited comes over a socket of this process. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await turn()
}

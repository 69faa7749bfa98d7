import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get as httpGet } from 'node:http'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Express, RequestHandler, Response } from 'express'
import { type Throttle, redisStore, requireBearer, throttle } from '../lib'
import { page } from './support/markdown'
import { answerForIssuers, samplesOf } from './docs/doc-samples'
import { freePort } from './support/redis'
import { TYPESCRIPT } from './support/typescript'
import { assertIs, atLeast, atMost, not, above, until } from './support/until'

// What each sample of the pages answers: status, header fields and body. That all compile: docs.long.ts

const sh = promisify(execFile)
const root = process.cwd()
const home = join(root, 'spec/clients/.cache', `samples-${process.pid}`)
mkdirSync(home, { recursive: true })
process.chdir(home)
after(() => rmSync(home, { recursive: true, force: true }))

// The samples' servers and a fetch that was left open keep the process from ending.
const listen = Reflect.get(Server.prototype, 'listen') as (...args: unknown[]) => Server
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  return listen.apply(this, args).unref()
}

const issuer = answerForIssuers()
const dev = issuer('https://ident.example.org')
const pages = new Map<string, ReturnType<typeof samplesOf>>()
const pageOf = (path: string) => {
  const known = pages.get(path) ?? samplesOf(root, home, path)
  pages.set(path, known)
  return known
}

type Fields = Record<string, string>
const as = (token: string): Fields => ({ Authorization: `Bearer ${token}` })

async function ask(url: string, headers: Fields = {}, method = 'GET', body?: string) {
  const response = await fetch(url, { headers, method, ...(body !== undefined && { body }) })
  const text = await response.text()
  const json = () => JSON.parse(text) as Record<string, unknown>
  return { status: response.status, field: (name: string) => response.headers.get(name), text, json }
}
type Answer = Awaited<ReturnType<typeof ask>>

/** A route that charges what `?ms=` asks for, and shows the budget. */
const spends: RequestHandler = (req, res) => {
  req.throttle?.charge(Number(req.query.ms ?? 0))
  res.json(req.throttle ?? { exempt: true })
}

/** Charges once a window has begun that lasts. */
async function spend(url: string, ms: number, headers: Fields = {}): Promise<Record<string, unknown>> {
  await until(async () => Number((await ask(url, headers)).json().endsInMs), above(3_000))
  const answer = await ask(`${url}?ms=${ms}`, headers)
  assert.equal(answer.status, 200)
  return answer.json()
}

/** The 429 of the dialect `standard`. */
function assertThrottled(answer: Answer, window = 'default'): void {
  assert.equal(answer.status, 429)
  assertRetryAfter(answer)
  assert.equal(answer.field('content-type'), 'application/json')
  const message = `No processing time is left in the window "${window}" for this request`
  assert.deepEqual(answer.json(), { errors: [{ code: 429, message }] })
}

function assertRetryAfter(answer: Pick<Answer, 'field'>): void {
  assert.match(answer.field('retry-after') ?? '', /^[1-9]\d*$/)
}

const exempts = (answer: Answer) => assert.equal(answer.field('x-throttle-window-size'), null)

describe('README.md', () => {
  const { run, runsElsewhere } = pageOf('README.md')
  runsElsewhere('Quick start') // readme.long.ts
  runsElsewhere('Who pays') // readme.long.ts

  it('counts logins beside a throttle, and exempts a poll', async () => {
    const { app, url } = await run('When not to use it')
    app.get('/poll', spends).get('/search', spends)
    const answers = []
    for (let i = 0; i < 11; i++) answers.push((await ask(`${url}/login`, {}, 'POST')).status)
    assert.deepEqual(answers, [...Array<number>(10).fill(204), 429])
    exempts(await ask(`${url}/poll`))
    await spend(`${url}/search`, 18_001)
    assertThrottled(await ask(`${url}/search`))
  })

  it('charges the user of a JWT', async () => {
    const auth0 = issuer('https://you.eu.auth0.com/')
    const { app, url } = await run('Who pays', 1)
    app.get('/', spends)
    const refused = await ask(url)
    assert.equal(refused.status, 401)
    assert.equal(refused.field('www-authenticate'), 'Bearer')
    assert.deepEqual(refused.json(), { errors: [{ code: 401, message: 'An access token is required' }] })
    const { subject } = (await ask(url, as(auth0.token('ada')))).json()
    assert.equal(subject, 'user:25:https://you.eu.auth0.com/:ada')
  })

  it('shares a budget through Redis', async () => {
    const { app, url, exports } = await run('Redis', 0, { edit: (text) => `${text}\nexport { throttled }` })
    app.get('/', spends)
    await spend(url, 18_001)
    assertThrottled(await ask(url))
    await (exports.throttled as Throttle).close()
  })

  it('sends an answer of the app', async () => {
    const { app, url } = await run('Error handling')
    app.get('/', spends)
    await spend(url, 18_001)
    const refused = await ask(url)
    assert.equal(refused.status, 429)
    assertRetryAfter(refused)
    assert.deepEqual(refused.json(), { error: 'slow down' })
  })
})

describe('docs/streams.md', () => {
  const { run } = pageOf('docs/streams.md')
  const throttled = (limitMs = 18_000) => ({ before: (app: Express) => void app.use(throttle({ limitMs })) })

  it('sends a download whole', async () => {
    writeFileSync(join(home, 'export.csv'), 'name\nada\n')
    const { url } = await run('Downloads', 0, throttled())
    const { status, text } = await ask(`${url}/export`)
    assert.deepEqual([status, text], [200, 'name\nada\n'])
  })

  it('ends an event stream with an event when nothing is left', async () => {
    const { app, url } = await run('Server-sent events', 0, throttled())
    app.get('/', spends)
    await spend(url, 0)
    const stream = await fetch(`${url}/events`)
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    await ask(`${url}?ms=18001`)
    assert.match(await stream.text(), /^(data: \{"at":\d+\}\n\n)+event: throttled\ndata: \{\}\n\n$/)
  })

  it('answers 429 for twice the limit, and 503 for a timeout, with Retry-After and a body', async () => {
    const { app, url } = await run('Stopping work early', 0, throttled(1_000))
    app.get('/', spends)
    assert.deepEqual((await ask(`${url}/search`)).json(), [])
    const { app: small, url: at } = await run('Stopping work early', 0, throttled(300))
    small.get('/', spends)
    await until(async () => Number((await ask(at)).json().endsInMs), above(3_000))
    const stopped = await ask(`${at}/search`)
    assert.equal(stopped.status, 429)
    assertRetryAfter(stopped)
    assert.match(stopped.field('content-type') ?? '', /^application\/json/)
    assert.match(String(stopped.json().error), /^No processing time is left in the window "default"/)
    const edit = (text: string) => text.replace('timeout(10_000)', 'timeout(50)')
    const { url: slow } = await run('Stopping work early', 0, { ...throttled(), edit })
    const late = await ask(`${slow}/search`)
    assert.deepEqual([late.status, late.field('retry-after')], [503, '30'])
    assert.deepEqual(late.json(), { error: 'The search takes too long' })
  })

  it('ends the response of a client that has disconnected', async () => {
    let response: Response | undefined
    const { url } = await run('Stopping work early', 0, {
      before: (app) => void app.use((_req, res, next) => next(void (response = res)), throttle()),
    })
    const client = httpGet(`${url}/search`).on('error', () => undefined)
    await until(() => response, not(undefined))
    client.destroy()
    await until(() => response?.writableEnded)
  })
})

describe('docs/monitoring.md', () => {
  const { run } = pageOf('docs/monitoring.md')

  it('brings metrics to Prometheus', async () => {
    const edit = (text: string) => `${text}\nexport { internal, throttled }`
    const { url, exports } = await run('Prometheus', 0, { edit })
    assert.equal((await ask(`${url}/report`)).status, 200)
    const port = await freePort()
    ;(exports.internal as Express).listen(port)
    const { text } = await ask(`http://localhost:${port}/metrics`)
    const shown = page(root, 'docs/monitoring.md').blocks.find(({ language }) => language === 'text')
    assert.ok(text.includes(shown?.text.trim().replace(/\} 1$/, '') ?? 'nothing'), text)
    assert.match(text, /^tollgate_limit\{[^}]*tollgate_window="default"[^}]*\} 18$/m)
    await (exports.throttled as Throttle).close()
  })
})

describe('docs/windows.md', () => {
  const { run } = pageOf('docs/windows.md')

  it('gives routes windows of their own, and shares one', async () => {
    const { app, url } = await run('Routes')
    app.use(spends)
    exempts(await ask(`${url}/platform/status`))
    assert.equal((await ask(`${url}/platform/tree/search`)).field('x-throttle-window-size'), '5000')
    await spend(`${url}/platform/tree/7/export`, 120_001)
    assertThrottled(await ask(`${url}/platform/tree/import`, {}, 'POST'), 'export')
    assert.equal((await ask(url)).field('x-throttle-window-size'), '18000')
  })

  it('gives plans their limits', async () => {
    const { exports, url } = await run('Plans', 0, signedIn)
    ;(exports.app as Express).get('/', spends)
    const sizeOf = async (claims: object) =>
      (await ask(url, as(dev.token('ada', { claims: { ...claims } })))).field('x-throttle-window-size')
    assert.equal(await sizeOf({ plan: 'pro' }), '20000')
    assert.equal(await sizeOf({ plan: 'unheard of' }), '5000')
  })

  it('shows the window with the least left', async () => {
    const { app, url } = await run('Several windows for one request')
    app.get('/', spends)
    assert.equal((await spend(url, 100)).window, 'minute')
    await spend(url, 17_901)
    assertThrottled(await ask(url), 'minute')
  })

  it('charges work elsewhere', async () => {
    const { url } = await run('What a request costs', 0, { before: (app) => void app.use(throttle()) })
    const first = Number((await ask(`${url}/report`)).json().leftMs)
    assertIs(first, atMost(16_500))
    assertIs(first, above(15_000))
  })

  it('lets requests run at once by plan', async () => {
    const { app, url } = await run('Requests at once', 0, signedIn)
    app.get('/', spends)
    assert.equal((await ask(url, as(dev.token('ada', { claims: { plan: 'pro' } })))).status, 200)
  })

  it('has a test resource', async () => {
    const { url } = await run('Dry run and test resource')
    const at = `${url}/platform/throttled?processingTime=18001`
    assert.equal((await ask(at)).status, 200)
    assertThrottled(await ask(at), 'default')
  })
})

describe('docs/who-pays.md', () => {
  const { run, runsElsewhere } = pageOf('docs/who-pays.md')
  runsElsewhere('express-session') // readme.long.ts
  const signIn: RequestHandler = (req, _res, next) => {
    const id = req.get('X-User')
    next(void (id && Object.assign(req, { user: { id } })))
  }
  const users = { before: (app: Express) => void app.use(signIn) }
  const subjectAt = async (url: string, headers: Fields = {}) => (await ask(url, headers)).json().subject

  it('passes an anonymous request of Passport to the address', async () => {
    const { app, url } = await run('Passport')
    app.get('/', spends)
    assert.equal(await subjectAt(url), 'address:127.0.0.1')
  })

  it('charges the user of a strategy without a session', async () => {
    const { exports, url } = await run('Passport', 2, { edit: (text) => `${text}\nexport { api }` })
    ;(exports.api as Express).get('/', spends)
    assert.equal(await subjectAt(`${url}/api`, { Authorization: 'ada' }), 'user:ada')
  })

  it('gives customers their limits, and refuses an unknown key', async () => {
    const { app, url } = await run('API keys')
    app.get('/', spends)
    const refused = await ask(url, { 'X-Api-Key': 'invented' })
    assert.deepEqual([refused.status, refused.json()], [401, { error: 'unknown API key' }])
    const { subject, limitMs } = (await ask(url, { 'X-Api-Key': 'k-4711' })).json()
    assert.deepEqual([subject, limitMs], ['customer:acme', 20_000])
  })

  it('limits a user and his tenant', async () => {
    const { app, url } = await run('Tenants', 0, signedIn)
    app.get('/', spends)
    const of = (who: string) => as(dev.token(who, { claims: { tenant: 'acme' } }))
    await spend(url, 18_001, of('ada'))
    assertThrottled(await ask(url, of('ada')), 'user')
    assert.equal((await ask(url, of('grace'))).status, 200)
  })

  it('limits addresses before sign-in', async () => {
    const { app, url } = await run('IP addresses')
    app.get('/', spends)
    assert.equal((await spend(url, 60_001)).subject, 'address:127.0.0.1')
    assertThrottled(await ask(url), 'address')
  })

  it('gives sign-in a window of its own', async () => {
    const { app, url } = await run('Sign-in routes', 0, users)
    app.get('/', spends)
    await spend(url, 18_001)
    assertThrottled(await ask(url))
    const login = await ask(`${url}/login`, {}, 'POST')
    assert.deepEqual([login.status, login.field('x-throttle-window-size')], [204, '2000'])
  })
})

describe('docs/public-routes.md', () => {
  const { run } = pageOf('docs/public-routes.md')

  it('answers in public what is mounted before', async () => {
    const { url } = await run('How do I make a route public?')
    assert.deepEqual((await ask(`${url}/health`)).json(), { up: true })
    assert.equal((await ask(`${url}/me`)).status, 401)
    assert.deepEqual((await ask(`${url}/me`, as(dev.token('ada')))).json(), { user: 'ada' })
  })

  it('lets in without a token, and refuses a bad one', async () => {
    const { url } = await run('How do I make the token optional?')
    assert.deepEqual((await ask(`${url}/places`)).json(), { personal: false })
    assert.deepEqual((await ask(`${url}/places`, as(dev.token('ada')))).json(), { personal: true })
    assert.equal((await ask(`${url}/places`, as(dev.attack('expired')))).status, 401)
  })

  it('accepts sessions without a user where they are allowed', async () => {
    const { app, url } = await run('How do I accept tokens without a user?')
    app.use((_req, res) => void res.json('in'))
    const visitor = as(dev.token('tree-app', { kind: 'unauthenticated' }))
    assert.equal((await ask(`${url}/platform/places`, visitor)).status, 200)
    assert.equal((await ask(`${url}/platform/tree`, visitor)).status, 403)
    assert.equal((await ask(`${url}/platform/places`)).status, 401)
  })
})

describe('docs/proxies.md, docs/serverless.md, docs/dialects.md, docs/errors.md', () => {
  it('reads addresses behind one proxy', async () => {
    for (const [path, heading] of [
      ['README.md', 'Behind a proxy'],
      ['docs/proxies.md', 'Number of proxies'],
    ] as const) {
      const { app, url } = await pageOf(path).run(heading)
      app.use(throttle()).get('/', spends)
      const { subject } = (await ask(url, { 'X-Forwarded-For': '6.6.6.6, 2001:db8:1:2ff::1' })).json()
      assert.equal(subject, 'address:2001:db8:1:200::/56', `${path}, ${heading}`)
    }
  })

  it("groups the addresses of a network's own field", async () => {
    const { app, url } = await pageOf('docs/proxies.md').run('Cloudflare')
    app.get('/', spends)
    const subjectOf = async (headers: Fields) => (await ask(url, headers)).json().subject
    assert.equal(await subjectOf({ 'CF-Connecting-IP': '203.0.113.9' }), 'address:203.0.113.9')
    assert.equal(await subjectOf({ 'CF-Connecting-IP': '2001:db8:1:2ff::1' }), 'address:2001:db8:1:200::/56')
    assert.equal(await subjectOf({}), 'address:127.0.0.1')
  })

  it('reports what a Lambda used before its handler returns', async (t) => {
    const { app, exports } = await pageOf('docs/serverless.md').run('AWS Lambda')
    app.get('/', spends)
    const http = { method: 'GET', path: '/', sourceIp: '203.0.113.78', protocol: 'HTTP/1.1' }
    const requestContext = { stage: '$default', timeEpoch: 1, http }
    const event = { version: '2.0', routeKey: '$default', rawPath: '/', rawQueryString: 'ms=7', requestContext }
    const handler = exports.handler as (event: object, context: object) => Promise<{ statusCode: number; body: string }>
    const { statusCode, body } = await handler({ ...event, headers: {}, isBase64Encoded: false }, {})
    assert.equal(statusCode, 200)
    const elsewhere = throttle({ store: redisStore(`redis://127.0.0.1:${process.env.SPEC_REDIS_PORT}`) })
    t.after(() => elsewhere.close())
    await elsewhere.ready()
    const { subject } = JSON.parse(body) as { subject: string }
    const [usage] = await elsewhere.usage(subject)
    assertIs(Number(usage?.spentMs), atLeast(7))
  })

  it('answers in the dialect of the setting', async () => {
    const before = (app: Express) => void app.set('tollgate dialect', 'familysearch')
    const { app, url } = await pageOf('docs/dialects.md').run('Dialects', 0, { before })
    app.use(requireBearer({ issuer: dev.issuer, audience: dev.audience }))
    assert.equal((await ask(url)).field('content-type'), 'application/json')
  })

  it('answers by the error handler of the app', async () => {
    const { app, url } = await pageOf('docs/errors.md').run('Sending your own response')
    app.get('/', spends)
    const ada = as(dev.token('ada'))
    const { stack } = app.router as unknown as { stack: unknown[] }
    stack.push(...stack.splice(stack.length - 2, 1)) // the error handler comes last
    await spend(url, 18_001, ada)
    const refused = await ask(url, ada)
    assertRetryAfter(refused)
    const retryAfterSec = Number(refused.field('retry-after'))
    assert.deepEqual([refused.status, refused.json()], [429, { error: 'throttled', retryAfterSec }])
  })
})

describe('docs/errors.md', () => {
  it('has each response byte by byte, as curl shows it', async () => {
    const { exports, url } = await pageOf('docs/errors.md').run('Responses byte by byte')
    const { blocks } = page(root, 'docs/errors.md')
    const shown = blocks.filter(({ language, text }) => language === 'sh' && text.startsWith('curl'))
    assert.equal(shown.length, 7)
    for (const { text, line } of shown) {
      const { text: expected = '' } = blocks[blocks.findIndex((block) => block.line === line) + 1] ?? {}
      const command = text.replace(/'?localhost:3000([^\s']*)'?/, `'${url}$1'`)
      const env = { PATH: process.env.PATH, ...(exports as NodeJS.ProcessEnv) }
      const { stdout } = await sh('sh', ['-c', command.replace('curl', 'curl -s')], { env })
      const fields = /^(Date|Connection|Keep-Alive): .*\n/gm
      assert.equal(`${stdout.replaceAll('\r', '').replace(fields, '')}`.trim(), expected.trim(), `line ${line}`)
    }
  })
})

describe('docs/bearer.md', () => {
  const { run, runsElsewhere } = pageOf('docs/bearer.md')
  runsElsewhere('Revocation') // bearer/issuers/recipes.spec.ts
  runsElsewhere('Revocation', 1) // bearer/issuers/recipes.spec.ts
  runsElsewhere('Connections that outlive a request') // clients/open-connections.long.ts
  const shows: RequestHandler = (req, res) => void res.json({ who: req.auth?.sub })
  const ours = as(dev.token('ada', { scope: 'read' }))

  const CASES: [heading: string, nth: number, accepted: Fields, path?: string, method?: string][] = [
    ['Opaque tokens', 0, as('8xLOxBtZp8'), '/v3'],
    ['A proxy that signs users in', 0, { 'Cf-Access-Jwt-Assertion': access() }, '/access'],
    ['A token in a cookie, or anywhere else', 0, { Cookie: `__Host-token=${dev.token('ada')}` }],
  ]
  for (const [heading, nth, accepted, path = '/'] of CASES) {
    it(`accepts a token, and refuses a request without one: ${heading}`, async () => {
      const { app, url } = await run(heading, nth)
      app.use(shows)
      const refused = await ask(url + path.replace(/\?.*/, ''))
      assert.equal(refused.status, 401)
      assert.match(refused.field('www-authenticate') ?? '', /^Bearer/)
      const answer = await ask(url + path, accepted)
      assert.deepEqual([answer.status, answer.json()], [200, { who: 'ada' }], answer.text)
    })
  }

  it('acknowledges a message of a queue by its token', async () => {
    const { exports } = await run('Outside of a request')
    const outcomeOf = async (token: string) => {
      const outcomes: unknown[] = []
      const message = { token, ack: () => outcomes.push('ack'), reject: (how: object) => outcomes.push(how) }
      await (exports.consume as (message: object) => Promise<void>)(message)
      return outcomes
    }
    assert.deepEqual(await outcomeOf(dev.token('ada')), ['ack'])
    assert.deepEqual(await outcomeOf('x'), [{ requeue: false }])
  })

  it('asks for a stronger login', async () => {
    const { url } = await run('A stronger login for some routes')
    const transfer = (claims: object) => ask(`${url}/transfer`, as(dev.token('ada', { claims: { ...claims } })), 'POST')
    const refused = await transfer({})
    assert.equal(refused.status, 401)
    assert.match(refused.field('www-authenticate') ?? '', /insufficient_user_authentication.*acr_values=.*max_age=/)
    const auth_time = Math.floor(Date.now() / 1_000)
    assert.equal((await transfer({ acr: 'urn:example:mfa', auth_time })).status, 204)
  })

  it('asks for a proof with a nonce', async () => {
    const { app, url } = await run('Tokens bound to a key (DPoP)')
    app.use(shows)
    const refused = await ask(url, ours)
    assert.equal(refused.status, 401)
    assert.match(refused.field('www-authenticate') ?? '', /^DPoP/)
  })

  function access(): string {
    const audience = '32eafc7626e737903802b30be52bda4be8b4b0f4d2fbd4be83d8a8e8a3e5e4f7'
    return issuer('https://acme.cloudflareaccess.com', audience).token('ada', { claims: { type: 'app' } })
  }
})

describe('docs/several-processes.md, docs/serverless.md, docs/redis.md', () => {
  for (const [path, heading] of [
    ['docs/several-processes.md', 'Several processes'],
    ['docs/redis.md', 'Names'],
    ['docs/redis.md', 'Keyed hashes'],
  ] as const) {
    it(`shares a budget between two throttles of one store: ${path}, ${heading}`, async () => {
      const { app, url } = await pageOf(path).run(heading, 0, proxied)
      app.get('/', spends)
      await spend(url, 18_001, clientOf(heading))
      assertThrottled(await ask(url, clientOf(heading)))
    })
  }

  it('limits a minute and a day', async () => {
    const heading = 'What must be equal'
    const { app, url } = await pageOf('docs/several-processes.md').run(heading, 0, proxied)
    app.get('/', spends)
    await spend(url, 18_001, clientOf(heading))
    assertThrottled(await ask(url, clientOf(heading)), 'minute')
  })

  it('starts when Redis answers, and stops after its server', async () => {
    for (const [path, heading] of [
      ['docs/redis.md', 'Outages'],
      ['docs/several-processes.md', 'Shutting down'],
    ] as const) {
      const { app, url } = await pageOf(path).run(heading, 0, proxied)
      app.get('/', spends)
      assert.equal((await ask(url, clientOf(heading))).status, 200)
    }
  })
})

describe('docs/ai.md', () => {
  const { run } = pageOf('docs/ai.md')
  /** A model that streams half an event every 20 ms, `chunks` events in all; says when its client has gone. */
  async function model(chunks: number) {
    const state = { asked: 0, gone: 0 }
    const server = createServer((req, res) => {
      state.asked++
      let sent = 0
      if (chunks > 0) res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      const timer = setInterval(() => {
        if (chunks === 0) return // it thinks
        res.write(sent++ % 2 === 0 ? 'data: chu' : `nk ${sent / 2}\n\n`)
        if (sent === 2 * chunks) res.end('data: {"usage":{"total_tokens":1000}}\n\n')
      }, 20)
      res.on('close', () => {
        clearInterval(timer)
        if (!res.writableFinished) state.gone++
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    process.env.MODEL_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return state
  }
  const budgets = /event: budget\ndata: \{"leftMs":(\d+)\}\n\n/g
  const chat = (url: string, signal?: AbortSignal) =>
    fetch(`${url}/chat`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
      ...(signal && { signal }),
    })

  it('streams an answer, and says what is left', async () => {
    await model(3)
    const { url } = await run('A streamed answer', 0, { edit: (text) => text })
    const answer = await chat(url)
    assert.equal(answer.headers.get('content-type'), 'text/event-stream')
    const text = await answer.text()
    assert.match(
      text.replace(budgets, ''),
      /^data: chunk 1\n\ndata: chunk 2\n\ndata: chunk 3\n\ndata: \{"usage".*\n\n$/,
    )
    const left = Number([...text.matchAll(budgets)].at(-1)?.[1])
    assertIs(left, atMost(598_000), `1,000 tokens cost 2 s: ${left}`)
    assertIs(left, above(590_000), `1,000 tokens cost 2 s: ${left}`)
  })

  it('says what is left while it streams, between whole events', async () => {
    await model(1_000_000)
    const { url } = await run('A streamed answer', 0, { edit: (text) => text.replace('1_000)\n', '30)\n') })
    const client = new AbortController()
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of (await chat(url, client.signal)).body ?? []) {
      text += decoder.decode(chunk as Uint8Array)
      if ([...text.matchAll(budgets)].length >= 3) break
    }
    client.abort()
    assert.match(text.replace(budgets, ''), /^(data: chunk \d+\n\n)+$/)
  })

  it('cuts off a model that thinks when nothing is left, with 429', async () => {
    const state = await model(0)
    const edit = (text: string) => text.replace('600_000', '100').replace('1_000)\n', '20)\n')
    const { url } = await run('A streamed answer', 0, { edit })
    const answer = await chat(url)
    assert.equal(answer.status, 429)
    assertRetryAfter({ field: (name) => answer.headers.get(name) })
    await until(() => state.gone, 1)
  })

  it('cuts the model off when nothing is left, and then answers 429', async () => {
    const state = await model(1_000_000)
    const edit = (text: string) => text.replace('600_000', '300').replace('1_000)\n', '50)\n')
    const { url } = await run('A streamed answer', 0, { edit })
    const text = await (await chat(url)).text()
    assert.match(
      text.replace(budgets, ''),
      /^(data: chunk \d+\n\n)+event: throttled\ndata: \{"retryAfterSec":\d+\}\n\n$/,
    )
    await until(() => state.gone, 1)
    const refused = await chat(url)
    assert.equal(refused.status, 429)
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.equal(state.asked, 1)
  })

  it('cuts the model off when the client leaves, and answers 502 when the model is away', async () => {
    const state = await model(1_000_000)
    const { url } = await run('A streamed answer', 0, { edit: (text) => `${text}\n` })
    const client = new AbortController()
    const answer = await chat(url, client.signal)
    await answer.body?.getReader().read()
    client.abort()
    await until(() => state.gone, 1)
    process.env.MODEL_URL = 'http://127.0.0.1:9'
    const { url: away } = await run('A streamed answer', 0, { edit: (text) => `${text}\n\n` })
    const broken = await chat(away)
    assert.deepEqual([broken.status, await broken.json()], [502, { error: 'The model does not answer' }])
  })

  it('charges tokens alone', async () => {
    const { url } = await run('Tokens')
    const answer = await ask(`${url}/complete`, {}, 'POST')
    assert.deepEqual(answer.json().text, 'HELLO')
    const left = Number(answer.json().leftTokens)
    assertIs(left, atMost(998_800))
    assertIs(left, above(998_000))
  })
})

describe('docs/faq.md', () => {
  it('blocks nobody while the set is empty', async () => {
    const { app, url } = await pageOf('docs/faq.md').run('How do I block one user now?')
    app.get('/', (_req, res) => void res.end())
    assert.equal((await ask(url)).field('x-throttle-window-size'), '18000')
  })

  it('exempts admins', async () => {
    const { app, url } = await pageOf('docs/faq.md').run('How do I exempt admins or internal services?', 0, signedIn)
    app.get('/', spends)
    exempts(await ask(url, as(dev.token('root', { scope: 'admin' }))))
    const { subject } = (await ask(url, as(dev.token('ada', { scope: 'read' })))).json()
    assert.equal(subject, 'user:25:https://ident.example.org:ada')
  })
})

describe('docs/graphql.md', () => {
  pageOf('docs/graphql.md').runsElsewhere('Subscriptions over WebSocket') // clients/recipes.long.ts

  it('limits all operations, and reports beside', async () => {
    const { url, app } = await pageOf('docs/graphql.md').run('One budget for all operations')
    const query = async (text: string) => {
      const body = JSON.stringify({ query: text })
      const answer = await ask(`${url}/graphql`, { 'Content-Type': 'application/json' }, 'POST', body)
      return { ...answer, size: answer.field('x-throttle-window-size') }
    }
    const person = await query('{ person }')
    assert.deepEqual([person.json(), person.size], [{ data: { person: 'Ada' } }, '18000'])
    for (const text of ['{ report }', '{ ...f } fragment f on Query { report }']) {
      const report = await query(text)
      assert.deepEqual([report.json(), report.size], [{ data: { report: 'long' } }, '5000'])
    }
    assert.equal((await query('{ no such')).status, 200)
    assert.equal((await ask(`${url}/graphql`, {}, 'POST')).status, 400)
    app.all('/graphql/spend', spends)
    await spend(`${url}/graphql/spend`, 18_001)
    const refused = await query('{ person }')
    assert.equal(refused.status, 429)
    assertRetryAfter(refused)
    const [{ extensions }] = refused.json().errors as [{ extensions: Record<string, unknown> }]
    assert.deepEqual(extensions, { code: 'THROTTLED', retryAfterSec: Number(refused.field('retry-after')) })
  })
})

describe('docs/kubernetes.md', () => {
  it('shares a budget between pods, answers probes, and ends by SIGTERM with exit code 0', async () => {
    pageOf('docs/kubernetes.md').runsElsewhere('The app')
    const [block] = page(root, 'docs/kubernetes.md').blocks.filter(({ file }) => file === 'server.ts')
    const prefix = `pods-${process.pid}:`
    const source = block?.text.replace("localhost:6379')", `localhost:6379', { prefix: '${prefix}' })`) ?? ''
    writeFileSync(join(home, 'server.ts'), source)
    const pod = async () => {
      const PORT = String(await freePort())
      const env = { ...process.env, PORT, REDIS_URL: `redis://127.0.0.1:${process.env.SPEC_REDIS_PORT}` }
      const child = spawn(process.execPath, [...TYPESCRIPT, join(home, 'server.ts')], { env, stdio: 'inherit' })
      const url = `http://127.0.0.1:${PORT}`
      await until(async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.status, 200)
      return { url, child, ended: once(child, 'exit') }
    }
    const pods = await Promise.all([pod(), pod()])
    const client = { 'X-Forwarded-For': '10.77.0.1' }
    for (const { url } of pods) {
      assert.equal((await ask(`${url}/healthz`)).status, 200)
      const answer = await ask(url, client)
      assert.deepEqual([answer.status, answer.field('x-throttle-window-size')], [200, '18000'])
    }
    const third = await pod() // a rolling deploy: a new pod comes, an old one goes
    pods[0].child.kill('SIGTERM')
    assert.deepEqual(await pods[0].ended, [0, null])
    for (const { url, child, ended } of [pods[1], third]) {
      assert.equal((await ask(url, client)).status, 200)
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
    }
  })
})

describe('docs on clients and sessions that leave', () => {
  it('throttles what is named there', async () => {
    const { app, url } = await pageOf('docs/windows.md').run('Clients that leave')
    app.use(spends)
    for (const [route, size] of Object.entries({ '/graphql': '18000', '/chat': '60000' })) {
      assert.equal((await ask(url + route)).field('x-throttle-window-size'), size)
    }
  })
})

/** Addresses of their own, since all share a Redis. */
const proxied = { before: (app: Express) => void app.set('trust proxy', 1) }
const clientOf = (name: string): Fields => ({ 'X-Forwarded-For': `10.9.8.${name.length}` })

describe('samples', () => {
  it('are all run', () => {
    assert.deepEqual(
      [...pages.values()].flatMap((each) => each.left()),
      [],
    )
  })
})

/** A sample after a bearer check. */
const signedIn = {
  before: (app: Express) => void app.use(requireBearer({ issuer: dev.issuer, audience: dev.audience })),
}

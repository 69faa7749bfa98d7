// The apps of the migration guides do the same before and after, but for what the guides say.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Express } from 'express'
import jwt from 'jsonwebtoken'
import type { Throttle } from '../lib'
import { devIssuer } from '../lib/testing'
import { page } from './support/markdown'
import { listen } from './support/serve'
import { assertIs, atLeast, above, until } from './support/until'

const root = process.cwd()
const load = createRequire(__filename)
const home = join(root, 'spec/clients/.cache', `migration-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))

/** Warnings of what the guides' apps are made of. `TOLLGATE_ISSUER` is about tokens that the specs send. */
const warnings: string[] = []
process.on('warning', ({ name, message }) => {
  if (name.startsWith('TOLLGATE_') && name !== 'TOLLGATE_ISSUER') warnings.push(`${name}: ${message}`)
})

type Side = 'before' | 'after'
const SIDES: Side[] = ['before', 'after']

/** The app of a guide, as it stands there. */
function appOf<T>(guide: string, side: Side): T {
  const block = page(root, `docs/migration/${guide}.md`).blocks.find(({ file }) => file === `${side}.ts`)
  assert.ok(block, `${guide} has a block ${side}.ts`)
  mkdirSync(join(home, guide), { recursive: true })
  const file = join(home, guide, `${side}.ts`)
  writeFileSync(file, block.text)
  return load(file) as T
}

const open: (() => Promise<void>)[] = []
after(() => Promise.all(open.map((close) => close())))
async function serve(app: Express): Promise<string> {
  const { url, close } = await listen(app)
  open.push(close)
  return url
}

const get = (url: string, headers: Record<string, string> = {}, method = 'GET') => fetch(url, { headers, method })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Five searches, each with its status; once more from the start where the machine was too slow for them to count. */
async function fiveSearches(
  search: () => Promise<Response>,
  reset: (() => Promise<void>) | undefined,
): Promise<number[]> {
  for (;;) {
    await reset?.()
    const answers = []
    for (let i = 1; i <= 5; i++) answers.push(await search())
    const used = answers.slice(0, 4).map(({ headers }) => Number(headers.get('x-throttle-millis-used') ?? 0))
    if (used.every((ms, i) => ms < 450 * (i + 1))) return answers.map(({ status }) => status)
  }
}

/** A window of the throttle's may end on the way, at any moment; not within these tests. */
async function windowLasts(throttled: Throttle | undefined, subject: string): Promise<void> {
  await until(async () => (await throttled?.usage(subject))?.[0]?.endsInMs ?? Infinity, above(5_000))
}

for (const side of SIDES) {
  describe(`docs/migration/express-rate-limit.md, ${side}`, () => {
    let url: string
    let throttled: Throttle | undefined
    before(async () => {
      const made = appOf<{ app: Express; throttled?: Throttle }>('express-rate-limit', side)
      throttled = made.throttled
      url = await serve(made.app)
    })
    const search = async (key: string, path = '/search') => get(url + path, { 'x-api-key': key })

    it('lets five searches in and refuses the sixth, with Retry-After and the body as it was', async () => {
      await windowLasts(throttled, 'key:ada')
      const reset = throttled?.reset.bind(throttled, 'key:ada')
      assert.deepEqual(await fiveSearches(() => search('ada'), reset), [200, 200, 200, 200, 200])
      const refused = await search('ada')
      assert.equal(refused.status, 429)
      assert.deepEqual(await refused.json(), { error: 'slow down' })
      const seconds = Number(refused.headers.get('retry-after'))
      assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 61, String(seconds))
    })

    it('refuses nobody else, and nothing at /health', async () => {
      assert.equal((await search('grace')).status, 200)
      assert.equal((await search('ada', '/health')).status, 200)
    })

    it('says in RateLimit fields how a client stands', async () => {
      const fields = (await search('edith')).headers
      assert.ok(fields.get('ratelimit'))
      assert.ok(fields.get('ratelimit-policy'))
    })

    it(side === 'before' ? 'refuses the sixth quick request' : 'lets twenty quick requests in', async () => {
      await windowLasts(throttled, 'key:quick')
      const statuses = []
      for (let i = 1; i <= 20; i++) statuses.push((await search('quick', '/quick')).status)
      assert.equal(statuses.filter((status) => status === 200).length, side === 'before' ? 5 : 20)
    })
  })

  describe(`docs/migration/rate-limiter-flexible.md, ${side}`, () => {
    interface Made {
      readonly app: Express
      readonly throttled?: Throttle
      readonly used: (key: string) => Promise<number>
      readonly reset: (key: string) => Promise<void>
    }
    let url: string
    let made: Made
    before(async () => {
      made = appOf<Made>('rate-limiter-flexible', side)
      url = await serve(made.app)
    })
    const ask = async (key: string, path: string) => get(url + path, { 'x-api-key': key })

    it('lets five searches in, refuses the sixth, and lets it in after a reset', async () => {
      await windowLasts(made.throttled, 'ada')
      const five = await fiveSearches(
        () => ask('ada', '/search'),
        () => made.reset('ada'),
      )
      assert.deepEqual(five, [200, 200, 200, 200, 200])
      const refused = await ask('ada', '/search')
      assert.equal(refused.status, 429)
      const seconds = Number(refused.headers.get('retry-after'))
      assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 61, String(seconds))
      assert.equal((await ask('grace', '/search')).status, 200)
      await made.reset('ada')
      assert.equal((await ask('ada', '/search')).status, 200)
    })

    it('knows what a key has used', async () => {
      assert.equal(await made.used('nobody-yet'), 0)
      await ask('edith', '/export')
      const used = await made.used('edith')
      if (side === 'before') assert.equal(used, 3)
      else assertIs(used, atLeast(600))
    })

    it(side === 'before' ? 'refuses what does not fit' : 'refuses once more than the limit is spent', async () => {
      await windowLasts(made.throttled, 'hedy')
      const statuses = []
      for (let i = 1; i <= 3; i++) statuses.push((await ask('hedy', '/export')).status)
      assert.deepEqual(statuses, side === 'before' ? [200, 429, 429] : [200, 200, 429])
    })
  })

  describe(`docs/migration/express-oauth2-jwt-bearer.md, ${side}`, () => {
    const dev = devIssuer({ algorithm: 'RS256' })
    let url: string
    let issuer: Awaited<ReturnType<typeof dev.serve>>
    before(async () => {
      issuer = await dev.serve()
      const { api } = appOf<{ api: (of: typeof issuer.options) => Express }>('express-oauth2-jwt-bearer', side)
      url = await serve(api(issuer.options).set('env', 'test'))
    })
    after(() => issuer.close())

    it('lets a user in and says who it is', async () => {
      const res = await get(`${url}/me`, bearer(dev.token('ada', { clientId: 'app' })))
      assert.deepEqual(await res.json(), { user: 'ada', app: 'app' })
    })

    it('answers 401 with a challenge to no token and to bad ones', async () => {
      for (const headers of [{}, bearer(dev.attack('expired')), bearer(dev.attack('another-audience'))]) {
        const res = await get(`${url}/me`, headers)
        assert.equal(res.status, 401)
        assert.match(String(res.headers.get('www-authenticate')), /^Bearer/)
      }
    })

    it('asks for a scope, and for a claim', async () => {
      const refused = await get(`${url}/tree`, bearer(dev.token('ada', { scope: 'read' })), 'DELETE')
      assert.equal(refused.status, 403)
      assert.match(String(refused.headers.get('www-authenticate')), /error="insufficient_scope".*scope="write"/)
      assert.equal((await get(`${url}/tree`, bearer(dev.token('ada', { scope: 'read write' })), 'DELETE')).status, 204)
      assert.equal((await get(`${url}/beta`, bearer(dev.token('ada')))).status, 401)
      assert.equal((await get(`${url}/beta`, bearer(dev.token('ada', { claims: { beta: true } })))).status, 200)
    })

    it(side === 'before' ? 'takes a token from the query' : 'takes no token from the query', async () => {
      const { status } = await get(`${url}/me?access_token=${dev.token('ada')}`)
      assert.equal(status, side === 'before' ? 200 : 401)
    })
  })

  describe(`docs/migration/express-jwt.md, ${side}`, () => {
    const secret = 'of thirty-two bytes, as HS256 wants'
    const sign = (claims: object, options: jwt.SignOptions = { expiresIn: 60 }, key = secret) =>
      jwt.sign({ iss: 'https://ident.example.org', aud: 'https://api.example.org', ...claims }, key, options)
    let url: string
    before(async () => {
      const { api } = appOf<{ api: (secret: string) => Express }>('express-jwt', side)
      url = await serve(api(secret).set('env', 'test'))
    })

    it('lets a user in and says who it is', async () => {
      const res = await get(`${url}/me`, bearer(sign({ sub: 'ada', plan: 'pro' })))
      assert.deepEqual(await res.json(), { user: 'ada', plan: 'pro' })
    })

    it('lets everybody see /health', async () => {
      assert.equal((await get(`${url}/health`)).status, 200)
    })

    it("answers 401 by the app's own handler", async () => {
      const expired = sign({ sub: 'ada' }, { expiresIn: -60 })
      const forged = sign({ sub: 'ada' }, { expiresIn: 60 }, 'x'.repeat(32))
      const foreign = sign({ sub: 'ada', aud: 'https://other.example.org' })
      for (const headers of [{}, bearer(expired), bearer(forged), bearer(foreign)]) {
        const res = await get(`${url}/me`, headers)
        assert.equal(res.status, 401)
        assert.equal(typeof ((await res.json()) as { error: unknown }).error, 'string')
        assert.equal(res.headers.has('www-authenticate'), side === 'after')
      }
    })

    it(side === 'before' ? 'takes a token that never expires' : 'takes no token that never expires', async () => {
      const { status } = await get(`${url}/me`, bearer(sign({ sub: 'ada' }, {})))
      assert.equal(status, side === 'before' ? 200 : 401)
    })
  })
}

it('the apps of the guides print no warning', () => assert.deepEqual(warnings, []))

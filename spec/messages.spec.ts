import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { promisify } from 'node:util'
import express, { type Express, type RequestHandler } from 'express'
import * as tollgate from '../lib'
import { throttleDashboard } from '../lib/dashboard'
import { devIssuer } from '../lib/testing'
import { parted } from './support/addressed'
import { listen } from './support/serve'
import { until } from './support/until'
import { page } from './support/markdown'
import { TYPESCRIPT } from './support/typescript'
import { authorizationServer, clientDirectory, userDirectory } from '../lib/oauth'

/**
 * What people get wrong in their first hour, and what they are told. Each message names the thing that is wrong and says
 * what to write instead. The mistakes are in JavaScript: TypeScript finds most of them before.
 */
const { allowUnauthenticated, processingTime, redisStore, requireAuthentication, requireBearer } = untyped(tollgate)
const { requireScope, serviceUnavailable, throttle, throttleTest } = untyped(tollgate)

const dev = devIssuer()
const issuer = 'https://as.test'
const audience = 'https://api.test'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const introspection = { clientId: 'api', clientSecret: 'hush' }
const HEADINGS = page(process.cwd(), 'docs/troubleshooting.md').anchors

/** A message without the address at its end, which names the heading of its code in troubleshooting.md. */
function text(err: { readonly message: string; readonly code?: string }): string {
  const { text, code } = parted(err.message)
  assert.ok(HEADINGS.has(code), `${err.message}: its address names a heading`)
  assert.equal(err.code?.toLowerCase(), code)
  return text
}

const guard: RequestHandler = (_req, _res, next) => next()

const clients = clientDirectory([])
const users = userDirectory([])

/** Found by the factory, at startup. */
const AT_STARTUP: [wrong: string, make: () => unknown, message: RegExp][] = [
  ...['message', 'statusCode', 'validate', 'skipFailedRequests'].map((option): (typeof AT_STARTUP)[number] => [
    `express-rate-limit's ${option}`,
    () => throttle({ [option]: true }),
    new RegExp(`"${option}".* an option of express-rate-limit: express-tollgate/docs/migration/express-rate-limit.md$`),
  ]),
  [
    "express-jwt's credentialsRequired",
    () => requireBearer({ credentialsRequired: false }),
    /"credentialsRequired"; did you mean "optional"\?.* express-tollgate\/docs\/migration\/express-jwt\.md$/,
  ],
  ["express-rate-limit's max", () => throttle({ max: 100 }), /^throttle has no option "max"; did you mean "limitMs"\?/],
  ['its limit', () => throttle({ limit: 100 }), /^throttle has no option "limit"; did you mean "limitMs"\?/],
  ['its keyGenerator', () => throttle({ keyGenerator: () => 'ada' }), /"keyGenerator"; did you mean "subject"\?/],
  ['its handler', () => throttle({ handler: guard }), /"handler"; did you mean "onDenied"\?/],
  ['a unit in capitals', () => throttle({ windowMS: 60_000 }), /"windowMS"; did you mean "windowMs"\?/],
  ["rate-limiter-flexible's points", () => throttle({ points: 5 }), /"points"; did you mean "limitMs"\?/],
  ['a name nothing is near to', () => throttle({ colour: 1 }), /^throttle has no option "colour"; it has limitMs, /],
  ['a number as text', () => throttle({ limitMs: '18000' }), /^limitMs must be a whole number from 1 to .* '18000'$/],
  ['seconds for milliseconds', () => throttle({ windowMs: 5 }), /^windowMs must be a whole number from 10 to .* 5$/],
  [
    'a path without a slash',
    () => throttle({ routes: { tree: false } }),
    /^routes: a key is '\/path' or 'METHOD \/path'/,
  ],
  [
    'a route without a limit',
    () => throttle({ routes: { '/tree': {} } }),
    /^routes\['\/tree'\]\.limitMs must be a whole/,
  ],
  ['a URL as a store', () => throttle({ store: 'redis://h' }), /^store must be a store, such as redisStore\(client\)/],
  ['an outage of memory', () => throttle({ onOutage: 'closed' }), /^onOutage: "closed" needs a store/],
  ['a prefix misspelt', () => redisStore('redis://h', { prefx: 'a' }), /"prefx"; did you mean "prefix"\?/],
  ['one window, two limits', twoLimits, /^two throttles have a window named 'default', one of 1000 ms .* 2000 ms/],
  ['no issuer at all', () => requireBearer(), /^issuer is missing: give it, or set ISSUER_BASE_URL/],
  ['no audience', () => requireBearer({ issuer }), /^audience is missing: give a text or a list of texts, or set AUDI/],
  [
    "express-oauth2-jwt-bearer's issuerBaseURL",
    () => requireBearer({ issuerBaseURL: issuer, audience }),
    /^requireBearer\(\) has no option "issuerBaseURL"; did you mean "issuer"\?/,
  ],
  ['jwksUrl', () => requireBearer({ issuer, audience, jwksUrl: 'x' }), /"jwksUrl"; did you mean "jwksUri"\?/],
  [
    'an issuer over http',
    () => requireBearer({ issuer: 'http://as.test', audience }),
    /^issuer must be an https URL .* 'http:\/\/as\.test'; for a test network without TLS set allowHttp: true$/,
  ],
  [
    'keys over http',
    () => requireBearer({ issuer, audience, jwksUri: 'http://as.test/keys' }),
    /^jwksUri must be an https URL; .* set allowHttp: true$/,
  ],
  [
    'introspection over http',
    () => requireBearer({ issuer, audience, introspection: { ...introspection, endpoint: 'http://as.test/i' } }),
    /^introspection\.endpoint must be an https URL; .* set allowHttp: true$/,
  ],
  [
    'what allowHttp would not help',
    () => requireBearer({ issuer, audience, jwksUri: 'ftp://as.test/keys' }),
    /^jwksUri must be an https URL; received 'ftp:\/\/as\.test\/keys'$/,
  ],
  ['a private key', () => requireBearer({ issuer, audience, key: privateKey }), /^key cannot be used: .*private/],
  ['a short secret', () => requireBearer({ issuer, audience, secret: 'hush' }), /^secret cannot be used: .* 32 bytes/],
  ['no scopes', () => requireScope(), /^requireScope\(\) takes one scope or more/],
  ['no guard', () => untyped({ throttleDashboard }).throttleDashboard(throttle(), {}), /needs a guard: middleware/],
]

/** Found at the first request, and answered with 500 by the app's error handler. */
const AT_A_REQUEST: [wrong: string, mount: (app: Express) => unknown, message: RegExp][] = [
  ...Object.entries({ throttle, requireBearer, allowUnauthenticated, processingTime, serviceUnavailable, throttleTest })
    .concat(Object.entries({ requireAuthentication }))
    .map(([name, factory]): (typeof AT_A_REQUEST)[number] => [
      `app.use(${name})`,
      (app) => app.use(factory as RequestHandler),
      new RegExp(`^app\\.use\\(${name}\\) mounts the factory itself; call it: app\\.use\\(${name}\\(\\)\\)$`),
    ]),
  [
    'app.use(requireScope)',
    (app) => app.use(requireScope as RequestHandler),
    /call it: app\.use\(requireScope\('read'\)\)/,
  ],
  [
    'app.use(throttleDashboard)',
    (app) => app.use(throttleDashboard as unknown as RequestHandler),
    /call it: app\.use\(throttleDashboard\(throttled, \{ guard \}\)\)/,
  ],
  [
    'scopes in one text',
    (app) => app.use(tollgate.requireBearer({ ...dev.options, optional: true }), tollgate.requireScope('read write')),
    /'read write'/,
  ],
  ['a scope nobody has checked', (app) => app.use(tollgate.requireScope('read')), /must stand after requireBearer\(\)/],
  ['a rehearsal of no throttle', (app) => app.use(tollgate.throttleTest()), /mount throttle\(\) before it/],
  [
    'a permission on no route',
    (app) => app.use(tollgate.allowUnauthenticated()),
    /must stand on one route; give it pa/,
  ],
  [
    'a subject that is none',
    (app) => app.use(throttle({ subject: () => undefined }) as RequestHandler),
    /must return a s/,
  ],
]

/** Said once by a warning, because the app works, and otherwise than was meant. */
const WARNED: [wrong: string, code: string, mount: (app: Express) => unknown, message: RegExp][] = [
  [
    'throttle() before requireBearer()',
    'TOLLGATE_ORDER',
    (app) => app.use(tollgate.throttle(), tollgate.requireBearer(dev.options)),
    /^throttle\(\) ran before requireBearer\(\).*mount requireBearer\(\) first/,
  ],
  [
    'allowUnauthenticated() after requireBearer()',
    'TOLLGATE_UNAUTHENTICATED_ORDER',
    (app) => app.use(tollgate.requireBearer(dev.options), tollgate.allowUnauthenticated({ paths: ['/places'] })),
    /^allowUnauthenticated\(\) ran after requireBearer\(\).*mount allowUnauthenticated\(\) first$/,
  ],
  [
    'a public route that is none',
    'TOLLGATE_NOT_PUBLIC',
    (app) => app.use(tollgate.allowUnauthenticated({ paths: ['/'] }), tollgate.requireBearer(dev.options)),
    /^GET \/ without a token got 401, although allowUnauthenticated\(\) lists the path.*before requireBearer\(\)$/,
  ],
  [
    'throttle() after the routes',
    'TOLLGATE_AFTER_ROUTES',
    (app) =>
      app
        .get('/tree', guard)
        .use(tollgate.throttle())
        .use((_req, res) => void res.sendStatus(404)),
    /^throttle\(\) is mounted after all routes of the app.*mount it before the routes$/,
  ],
  [
    "a server at a path that is not its issuer's",
    'TOLLGATE_ISSUER_PATH',
    (app) => app.use('/oauth', authorizationServer({ issuer: 'https://as.test/oauth2', clients, users })),
    /^authorizationServer\(\) is mounted at '\/oauth', and its issuer https:\/\/as\.test\/oauth2 has the path '\/oauth2'/,
  ],
  [
    'a proxy that Express does not know of',
    'TOLLGATE_TRUST_PROXY',
    (app) => app.use(tollgate.throttle()),
    /^a request came with X-Forwarded-For .*app\.set\('trust proxy', 1\)/,
  ],
]

describe('a mistake is told at startup:', () => {
  for (const [wrong, make, message] of AT_STARTUP) {
    it(wrong, () => {
      assert.throws(make, (err: Error) => {
        assert.ok(err instanceof TypeError || err instanceof RangeError, String(err))
        assert.match(text(err), message)
        return !err.message.includes('hush')
      })
    })
  }
})

describe('a mistake is told at the first request:', () => {
  for (const [wrong, mount, message] of AT_A_REQUEST) {
    it(wrong, async (t) => {
      const errors: Error[] = []
      const get = await serve(t, (app) => {
        mount(app)
        app.use((err: Error, _req: unknown, res: express.Response, next: () => void) => {
          errors.push(err)
          if (res.headersSent) return next()
          res.status(500).end()
        })
      })
      assert.equal((await get('/')).status, 500)
      assert.deepEqual(
        errors.map((err) => message.test(text(err)) || err.message),
        [true],
      )
    })
  }
})

describe('a mistake is told by one warning:', () => {
  for (const [wrong, code, mount, message] of WARNED) {
    it(wrong, async (t) => {
      const said = warnings(t, code)
      const get = await serve(t, mount)
      const authorization = `Bearer ${dev.token('ada')}`
      const path = code === 'TOLLGATE_ISSUER_PATH' ? '/oauth/jwks' : '/'
      const headers = {
        ...(code !== 'TOLLGATE_NOT_PUBLIC' && { authorization }),
        ...(code === 'TOLLGATE_TRUST_PROXY' && { 'x-forwarded-for': '203.0.113.9' }),
      }
      for (let i = 0; i < 2; i++) await get(path, headers)
      await until(() => said.length > 0)
      await get(path, headers)
      assert.equal(said.length, 1)
      assert.match(text({ message: said[0] as string, code }), message)
    })
  }

  it('and not for throttle() after a health check, and before routes, routers or other handlers', async () => {
    const { stderr } = await promisify(execFile)(process.execPath, [...TYPESCRIPT, '--eval', NOT_AFTER_ROUTES])
    assert.equal(stderr, '')
  })

  it('and not for allowUnauthenticated() on a route with a requireBearer() of its own', async () => {
    // In a process of its own, because a warning is said once in each.
    const { stderr } = await promisify(execFile)(process.execPath, [...TYPESCRIPT, '--eval', SECOND_BEARER])
    assert.equal(stderr, '')
  })
})

const NOT_AFTER_ROUTES = `
  const { throttle } = require('./lib')
  const check = async (express, mount) => {
    const app = express()
    app.get('/health', (req, res) => res.end())
    app.use(throttle({ headers: { throttle: false } }))
    mount(app, express)
    const server = await new Promise((resolve) => { const s = app.listen(0, () => resolve(s)) })
    await fetch('http://127.0.0.1:' + server.address().port + '/gone')
    server.closeAllConnections()
    server.close()
  }
  const serveFiles = (req, res, next) => next()
  ;(async () => {
    for (const express of [require('express'), require('express4')]) {
      await check(express, (app) => app.get('/tree', (req, res) => res.end()))
      await check(express, (app, { Router }) => app.use('/api', Router().get('/tree', (req, res) => res.end())))
      await check(express, (app, express) => app.use('/api', express()))
      await check(express, (app) => app.use(serveFiles))
      await check(express, (app) => app.use((req, res) => res.end('page')))
    }
  })()`

const SECOND_BEARER = `
  const express = require('express')
  const { allowUnauthenticated, requireBearer } = require('./lib')
  const { devIssuer } = require('./lib/testing')
  const dev = devIssuer()
  const app = express().use(requireBearer({ ...dev.options, optional: true }))
  app.get('/places', allowUnauthenticated(), requireBearer(dev.options), (req, res) => res.end(req.auth.kind))
  const server = app.listen(0, async () => {
    const headers = { authorization: 'Bearer ' + dev.token('ada') }
    const answer = await fetch('http://127.0.0.1:' + server.address().port + '/places', { headers })
    if ((await answer.text()) !== 'user') throw new Error('not let in')
    server.closeAllConnections()
    server.close()
  })`

describe('without Express', () => {
  const root = process.cwd()
  it('the package says what to install', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'express-tollgate-alone-'))
    t.after(() => rmSync(home, { recursive: true, force: true }))
    const own = join(home, 'node_modules/express-tollgate')
    mkdirSync(own, { recursive: true })
    cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(own, 'package.json'))
    for (const name of ['ioredis', 'jsonwebtoken', 'http-errors']) {
      symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name))
    }
    for (const script of ["require('express-tollgate')", "import('express-tollgate')"]) {
      const failed = promisify(execFile)(process.execPath, ['--eval', script], { cwd: home })
      await assert.rejects(failed, /Error: express-tollgate needs Express 4\.18 or newer, or 5, .*npm install express/)
    }
    await promisify(execFile)(process.execPath, ['--eval', "require('express-tollgate/client')"], { cwd: home })
  })
})

/** A module as JavaScript sees it: TypeScript would not let these mistakes through. */
function untyped<T extends object>(module: T): { [name in keyof T]: (...args: unknown[]) => unknown } {
  return module as { [name in keyof T]: (...args: unknown[]) => unknown }
}

function twoLimits() {
  const store = redisStore('redis://127.0.0.1:1')
  const first = throttle({ store, limitMs: 1_000 }) as tollgate.Throttle
  try {
    throttle({ store, limitMs: 2_000 })
  } finally {
    void first.close()
  }
}

async function serve(t: TestContext, mount: (app: Express) => unknown) {
  const app = express()
  app.set('env', 'test')
  mount(app)
  const { get, close } = await listen(app)
  t.after(close)
  return get
}

function warnings(t: TestContext, code: string): string[] {
  const said: string[] = []
  const listener = (warning: Error & { code?: string }) => {
    if (warning.code === code) said.push(warning.message)
  }
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  return said
}

// Mistakes of the first hour are told, each with a code and its heading in docs/troubleshooting.md.
import assert from 'node:assert/strict'
import { createPublicKey, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { readFileSync, readdirSync } from 'node:fs'
import express, { type Express, type RequestHandler } from 'express'
import * as tollgate from '../lib'
import { throttleDashboard } from '../lib/dashboard'
import { devIssuer } from '../lib/testing'
import { splitHelpLink } from './support/help-link'
import { EXPRESS_VERSIONS } from './support/express-versions'
import { fewRsaKeys, generateKeys } from './support/generate-keys'
import { warned } from './support/heard'
import { serve } from './support/serve'
import { above, until } from './support/until'
import { page } from './support/markdown'
import { packageCopy } from './support/package-copy'
import * as oauth from '../lib/oauth'
import * as providers from '../lib/providers'
import { pacedFetch } from '../lib/client'
import { readData } from './support/data'

/**
 * What people get wrong in their first hour, and that they are told: by an error with a code, which names the thing that
 * is wrong and what to write instead. The mistakes are in JavaScript: TypeScript finds most of them before.
 */
const { allowUnauthenticated, processingTime, requireStepUp, requireBearer } = untyped(tollgate)
const { requireScope, serviceUnavailable, throttle, throttleTest } = untyped(tollgate)

const dev = devIssuer()
const issuer = 'https://as.test'
const audience = 'https://api.test'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
/** A public key of 1,024 bits, made beforehand: small keys can take OpenSSL for ever. */
const WEAK =
  '2RJvlNZ7LW9QcW8NSoewYy_gcah70rSw8_tLAymgwSahgOk2hGq7Ptijc0G0Mm4nEZR6K3kmCUQPdaPAr78Ye5A6komlZTFnL7QV4XsrQcvSUr7Z0' +
  '7Ut9C7DTQ3VIaXcPsPiAz4olJl2O_Yh3MZblOPavCUoa0oaDSeD0IQywwk'
const HEADINGS = page(process.cwd(), 'docs/troubleshooting.md').anchors

/** Which of these names the message lacks. Its address names a heading of troubleshooting.md: that of its code. */
function missing(err: { readonly message: string; readonly code?: string }, names: readonly string[]): string[] {
  const { text, code } = splitHelpLink(err.message)
  assert.ok(HEADINGS.has(code), `${err.message}: its address names a heading`)
  assert.equal(err.code?.toLowerCase(), code)
  return names.filter((name) => !err.message.includes(name)).map((name) => `${name} in: ${text}`)
}

const guard: RequestHandler = (_req, _res, next) => next()
const notFound: RequestHandler = (_req, res) => void res.sendStatus(404)

const clients = oauth.clientDirectory([])
const users = oauth.userDirectory([])

/**
 * Calls as people write them who come from express-rate-limit, rate-limiter-flexible, express-jwt,
 * express-oauth2-jwt-bearer and oidc-provider, or misread a page, with the first line of the message.
 */
const WRONG_CALLS = readData('corpora/wrong-calls.json') as Readonly<Record<string, string>>

/** What stands in these calls. */
const own = { pacedFetch, throttleDashboard, devIssuer, privateKey, issuer, audience, guard, clients, users }
const keys = {
  key: dev.options.key,
  other: devIssuer().options.key,
  rsa: generateKeys('rsa').publicKey.export({ format: 'jwk' }),
  weak: createPublicKey({ format: 'jwk', key: { kty: 'RSA', e: 'AQAB', n: WEAK } }),
  secp256k1: generateKeys('ec', 'secp256k1').publicKey,
  p384: generateKeys('ec', 'P-384').privateKey,
  ed448: generateKeys('ed448').privateKey,
  x25519: generateKeys('x25519').publicKey,
  shared: createSecretKey(Buffer.alloc(32)),
}
const app = { clientId: 'web', name: 'Web', redirectUris: ['https://web.test/cb'] }
const user = { id: 'KWC6-X7D', username: 'ada', password: 'hush hush' }
const NAMES = { ...tollgate, ...oauth, ...providers, ...own, ...keys, app, user }

/** Found at the first request, and answered with 500 by the app's error handler. */
const AT_A_REQUEST: [wrong: string, mount: (app: Express) => unknown, ...names: string[]][] = [
  ...Object.entries({ throttle, requireBearer, allowUnauthenticated, processingTime, serviceUnavailable, throttleTest })
    .concat(Object.entries({ requireStepUp }))
    .map(([name, factory]): (typeof AT_A_REQUEST)[number] => [
      `app.use(${name})`,
      (app) => app.use(factory as RequestHandler),
      `app.use(${name}())`,
    ]),
  ['app.use(requireScope)', (app) => app.use(requireScope as RequestHandler), "app.use(requireScope('read'))"],
  [
    'app.use(throttleDashboard)',
    (app) => app.use(throttleDashboard as unknown as RequestHandler),
    'app.use(throttleDashboard(throttled, { guard }))',
  ],
  [
    'scopes in one text',
    (app) => app.use(tollgate.requireBearer({ ...dev.options, optional: true }), tollgate.requireScope('read write')),
    "'read write'",
  ],
  ['a scope nobody has checked', (app) => app.use(tollgate.requireScope('read')), 'requireBearer()'],
  ['a rehearsal of no throttle', (app) => app.use(tollgate.throttleTest()), 'throttle()'],
  ['a permission on no route', (app) => app.use(tollgate.allowUnauthenticated()), 'paths'],
  ['a subject that is none', (app) => app.use(throttle({ subject: () => 7 }) as RequestHandler), 'subject'],
]

/** Said once by a warning, because the app works, and otherwise than was meant. */
const WARNED: [wrong: string, code: string, mount: (app: Express) => unknown, says?: RegExp][] = [
  [
    'throttle() before requireBearer()',
    'TOLLGATE_ORDER',
    (app) => app.use(tollgate.throttle(), tollgate.requireBearer(dev.options)),
    /throttle\(\) ran before requireBearer\(\).*mount requireBearer\(\) first/,
  ],
  [
    'allowUnauthenticated() after requireBearer()',
    'TOLLGATE_UNAUTHENTICATED_ORDER',
    (app) => app.use(tollgate.requireBearer(dev.options), tollgate.allowUnauthenticated({ paths: ['/places'] })),
  ],
  [
    'a public route that is none',
    'TOLLGATE_NOT_PUBLIC',
    (app) => app.use(tollgate.allowUnauthenticated({ paths: ['/'] }), tollgate.requireBearer(dev.options)),
  ],
  [
    'throttle() after the routes',
    'TOLLGATE_AFTER_ROUTES',
    (app) => app.get('/tree', guard).use(tollgate.throttle()).use(notFound),
  ],
  [
    "a server at a path that is not its issuer's",
    'TOLLGATE_ISSUER_PATH',
    (app) => app.use('/oauth', oauth.authorizationServer({ issuer: 'https://as.test/oauth2', clients, users })),
  ],
]

describe('a mistake is told at startup:', () => {
  fewRsaKeys() // a server makes its key before it finds some of the mistakes

  for (const [call, expected] of Object.entries(WRONG_CALLS)) {
    it(call, () => {
      // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the table is ours
      const run = new Function(...Object.keys(NAMES), `return ${call}`) as (...args: unknown[]) => unknown
      assert.throws(
        () => run(...Object.values(NAMES)),
        (err: Error) => {
          assert.ok(err instanceof TypeError || err instanceof RangeError, String(err))
          assert.deepEqual(missing(err, []), [])
          const [first = ''] = splitHelpLink(err.message).text.split('\n')
          const isCut = expected.endsWith('; it has …') // a list that grows with each option
          assert.equal(isCut ? `${first.slice(0, expected.length - 1)}…` : first, expected)
          return !err.message.includes('hush')
        },
      )
    })
  }
})

describe('a mistake is told at the first request:', () => {
  for (const [wrong, mount, ...names] of AT_A_REQUEST) {
    it(wrong, async () => {
      const errors: Error[] = []
      const get = await asking((app) => {
        mount(app)
        app.use((err: Error, _req: unknown, res: express.Response, next: () => void) => {
          errors.push(err)
          if (res.headersSent) return next()
          res.status(500).end()
        })
      })
      assert.equal((await get('/')).status, 500)
      assert.deepEqual(
        errors.map((err) => missing(err, names)),
        [[]],
      )
    })
  }
})

describe('a mistake is told by one warning:', () => {
  for (const [wrong, code, mount, says = /./] of WARNED) {
    it(wrong, async (t) => {
      const said = warned(t, code)
      const get = await asking(mount)
      const authorization = `Bearer ${dev.token('ada')}`
      const path = code === 'TOLLGATE_ISSUER_PATH' ? '/oauth/jwks' : '/'
      const headers = {
        ...(code !== 'TOLLGATE_NOT_PUBLIC' && { authorization }),
      }
      for (let i = 0; i < 2; i++) await get(path, headers)
      await until(() => said.length, above(0))
      await get(path, headers)
      assert.equal(said.length, 1)
      assert.match(said[0] as string, says)
      missing({ message: said[0] as string, code }, [])
    })
  }

  it('throttle() at the end of a router, behind its routes', async (t) => {
    for (const [, express] of EXPRESS_VERSIONS) {
      const said = warned(t, 'TOLLGATE_AFTER_ROUTES')
      const router = express.Router().get('/tree', guard)
      const app = express().use('/api', router.use(packageCopy().throttle({ headers: { throttle: false } })))
      await (await serve(app)).get('/api/gone')
      await until(() => said.length, 1)
    }
  })

  // A warning is said once in each copy of the package.
  it('and not for throttle() after a health check, and before routes, routers or other handlers', async (t) => {
    const said = warned(t)
    const copy = packageCopy()
    const end: RequestHandler = (_req, res) => void res.end()
    for (const [, express] of EXPRESS_VERSIONS) {
      const afterwards: ((app: Express) => unknown)[] = [
        (app) => app.get('/tree', end),
        (app) => app.use('/api', express.Router().get('/tree', end)),
        (app) => app.use('/api', express()),
        (app) => app.use(guard),
        (app) => app.use(end),
      ]
      for (const mount of afterwards) {
        const router = express.Router().get('/health', end)
        const app = express().use(router.use(copy.throttle({ headers: { throttle: false } })))
        mount(app)
        await (await serve(app)).get('/gone')
      }
    }
    assert.deepEqual(said, [])
  })

  it('and not for allowUnauthenticated() on a route with a requireBearer() of its own', async (t) => {
    const said = warned(t)
    const { allowUnauthenticated, requireBearer } = packageCopy()
    const app = express().use(requireBearer({ ...dev.options, optional: true }))
    app.get('/places', allowUnauthenticated(), requireBearer(dev.options), (req, res) => void res.end(req.auth?.kind))
    const answer = await (await serve(app)).get('/places', { authorization: `Bearer ${dev.token('ada')}` })
    assert.deepEqual([answer.body, said], ['user', []])
  })
})

/** A module as JavaScript sees it: TypeScript would not let these mistakes through. */
function untyped<T extends object>(module: T): { [name in keyof T]: (...args: unknown[]) => unknown } {
  return module as { [name in keyof T]: (...args: unknown[]) => unknown }
}

async function asking(mount: (app: Express) => unknown) {
  const app = express()
  app.set('env', 'test')
  mount(app)
  const { get } = await serve(app)
  return get
}

it('all wrong options of a call are named at once, a line each, and a guide once', () => {
  const options = { max: 100, keyGenerator: () => '', statusCode: 429, colour: 'red' }
  assert.throws(
    () => throttle(options),
    (err: Error) => {
      const lines = err.message.split('\n  nor ')
      assert.deepEqual(
        lines.map((line) => /"(\w+)"/.exec(line)?.[1]),
        Object.keys(options),
      )
      assert.equal(err.message.split('migration/express-rate-limit.md').length, 2)
      return true
    },
  )
})

// Errors and warnings end with the address of a heading of troubleshooting.md: a code without one leads nowhere.

const sources = readdirSync('lib', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(`lib/${file}`, 'utf8'))
  .join('\n')

it('docs/troubleshooting.md has a heading for every warning and every reason of a refusal', () => {
  const headings = page(process.cwd(), 'docs/troubleshooting.md').headings.map(({ title }) => title)
  // In quotes; others are names of the environment.
  const warnings = [...sources.matchAll(/'(TOLLGATE_[A-Z_]+)'/g)].map(([, code]) => code)
  const unions = [...sources.matchAll(/type \w*Reason =([^;]+?)\n\n/g)].map(([, union]) => union)
  const reasons = [...unions.join().matchAll(/'(\w+)'/g)].map(([, reason]) => reason)
  assert.ok(warnings.includes('TOLLGATE_DEGRADED') && reasons.includes('expired') && reasons.includes('outage'))
  assert.deepEqual(
    [...new Set([...warnings, ...reasons])].filter((code) => !headings.includes(code as string)),
    [],
  )
  const twice = headings.filter((title, at) => /^[a-zA-Z]+(_[a-zA-Z]+)*$/.test(title) && headings.indexOf(title) !== at)
  assert.deepEqual(twice, [], 'each code has one place')
})

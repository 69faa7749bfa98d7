// Warnings of mistakes: payers before sign-in, ids that are none, limits and windows in wrong units, dialects.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, it, type TestContext } from 'node:test'
import express, { type Express, type RequestHandler } from 'express'
import { type ThrottleOptions, budgetOf } from '../../lib'
import { warned } from '../support/heard'
import { packageCopy } from '../support/package-copy'
import { serve } from '../support/serve'

/** What Passport adds to a request, of which there are no types here. */
type Request = express.Request & { user?: { readonly id?: string } }
interface Passport {
  serializeUser(take: (user: { id: string }, done: (err: null, id: string) => void) => void): void
  deserializeUser(find: (id: string, done: (err: null, user: { id: string }) => void) => void): void
  use(name: string, strategy: { authenticate(this: { success(user: object): void }, req: express.Request): void }): void
  initialize(): RequestHandler
  session(): RequestHandler
  authenticate(strategy: string, options?: { session: boolean }): RequestHandler
}

const load = createRequire(__filename)
const passport = load('passport') as Passport
const session = load('express-session') as (options: object) => RequestHandler
const sessions = session({ secret: 'of 32 random bytes', resave: false, saveUninitialized: false })
passport.serializeUser((user, done) => done(null, user.id))
passport.deserializeUser((id, done) => done(null, { id }))
passport.use('local', {
  authenticate(req) {
    this.success({ id: req.query.who })
  },
})

type Copy = ReturnType<typeof packageCopy>
type Mount = (app: Express, copy: Copy) => unknown
const userOrAddress =
  ({ addressSubject }: Copy) =>
  (req: Request) =>
    req.user ? `user:${req.user.id}` : addressSubject(req)

/**
 * Signs in to an app once, then asks it twice. The app has its own copy of the package, because a copy says a warning once.
 *
 * @returns the answers' bodies, which are the subjects
 */
async function run(t: TestContext, mount: Mount, paths: readonly string[] = ['/', '/']) {
  const warnings = warned(t)
  const app = express().set('env', 'test')
  mount(app, packageCopy())
  const subject: RequestHandler = (req, res) => void res.end(req.throttle?.subject)
  app.post('/login', passport.authenticate('local'), subject)
  app.post('/token', passport.authenticate('local', { session: false }), subject)
  app.get('/', subject)
  app.use(
    ((err: Error, _req, res, _next) => void res.status(500).end(err.message)) satisfies express.ErrorRequestHandler,
  )
  const { url } = await serve(app)
  const login = await fetch(`${url}/login?who=ada`, { method: 'POST' })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  const bodies: string[] = []
  for (const path of paths) {
    // With a query it is a login, which has no credentials yet.
    const basic = path.includes('?') ? {} : { authorization: 'Basic YTpi' }
    const asks = path === '/' ? { headers: { cookie } } : { method: 'POST', headers: basic }
    bodies.push(await (await fetch(url + path, asks)).text())
  }
  return { bodies, warnings }
}

describe('TOLLGATE_ORDER', () => {
  const wrong: [what: string, mount: Mount, remedy: RegExp, paths?: string[]][] = [
    [
      'no subject is given',
      (app, { throttle }) => app.use(sessions, passport.session(), throttle()),
      /give throttle\(\) a subject that reads req\.user, and mount it after/,
    ],
    [
      'throttle() stands before passport.session()',
      (app, copy) =>
        app.use(sessions, passport.initialize(), copy.throttle({ subject: userOrAddress(copy) }), passport.session()),
      /the user; mount throttle\(\) after the middleware that sets req\.user/,
    ],
    [
      'throttle() stands before the session itself',
      (app, copy) => app.use(copy.throttle({ subject: userOrAddress(copy) }), sessions, passport.session()),
      /the user; mount throttle\(\) after/,
    ],
    [
      "a route's own authentication comes after it",
      (app, copy) => app.use(sessions, passport.session(), copy.throttle({ subject: userOrAddress(copy) })),
      /the user; mount throttle\(\) after/,
      ['/token'],
    ],
    [
      'a middleware of the app sets req.user later',
      (app, { throttle }) =>
        app.use(throttle({ subject: (req: Request) => req.user?.id ?? req.ip }), (req: Request, _res, next) => {
          req.user = { id: 'ada' }
          setImmediate(next)
        }),
      /the user; mount throttle\(\) after/,
    ],
  ]
  for (const [what, mount, remedy, paths] of wrong) {
    it(`is warned of once where ${what}`, async (t) => {
      const { warnings } = await run(t, mount, paths)
      assert.equal(warnings.length, 1, warnings.join('\n'))
      assert.match(warnings[0] as string, /charged an address, and req\.user was set.*#tollgate_order/)
      assert.match(warnings[0] as string, remedy)
    })
  }

  const right: [what: string, mount: Mount, subject: string][] = [
    [
      'the user pays',
      (app, copy) => app.use(sessions, passport.session(), copy.throttle({ subject: userOrAddress(copy) })),
      'user:ada',
    ],
    [
      'the address is meant to pay',
      (app, { throttle, addressSubject: subject }) => app.use(throttle({ subject }), sessions, passport.session()),
      'address:127.0.0.1',
    ],
    [
      'the address is meant to pay first',
      (app, copy) =>
        app.use(
          copy.throttle({ subject: copy.addressSubject, name: 'logins' }),
          ...[sessions, passport.session()],
          copy.throttle({ subject: userOrAddress(copy), limitMs: 1_000 }),
        ),
      'user:ada',
    ],
  ]
  for (const [what, mount, subject] of right) {
    it(`is not warned of where ${what}, the login included`, async (t) => {
      assert.deepEqual(await run(t, mount), { bodies: [subject, subject], warnings: [] })
    })
  }

  for (const [what, before] of [
    ['where the app has none', []],
    ['where the app has some', [sessions, passport.session()]],
  ] as const) {
    it(`is not warned of at a login that starts no session, ${what}`, async (t) => {
      const mount: Mount = (app, copy) => app.use(...before, copy.throttle({ subject: userOrAddress(copy) }))
      assert.deepEqual((await run(t, mount, ['/token?who=ada'])).warnings, [])
    })
  }
})

/** An app of which `subject` is the throttle's. */
const paidBy =
  (subject: unknown, ...before: RequestHandler[]): Mount =>
  (app, { throttle }) =>
    app.use(...before, throttle({ subject: subject as ThrottleOptions['subject'] }))

describe('TOLLGATE_SUBJECT', () => {
  const payer = () => `tenant:7:${null}`
  // The message names the function, so that each has the name that apps give it.
  const missing: [returned: string, options: ThrottleOptions, warning: RegExp][] = [
    [
      'user:undefined',
      { subject: (req: Request) => `user:${req.user?.id}` },
      /subject\(req\) returned a string that ends in "undefined"/,
    ],
    ['tenant:7:null', { subject: payer }, /subject, the function payer, returned .*"null"/],
    ['key:NaN', { subject: () => `key:${Number('x')}` }, /subject\(req\) returned a string that ends in "NaN"/],
    [
      'undefined',
      { subject: (req) => String(req.get('X-Account')) },
      /subject\(req\) returned a string that ends in "undefined"/,
    ],
    ['user:[object Object]', { subject: () => 'user:[object Object]' }, /ends in "\[object Object\]"/],
  ]
  for (const [returned, { subject }, warning] of missing) {
    it(`is warned of once where subject returns ${returned}`, async (t) => {
      const { bodies, warnings } = await run(t, paidBy(subject))
      assert.deepEqual([bodies, warnings.length], [[returned, returned], 1], warnings.join('\n'))
      assert.match(warnings[0] as string, warning)
      assert.match(warnings[0] as string, /#tollgate_subject/)
    })
  }

  it('is not warned of where an id only looks like it', async (t) => {
    assert.deepEqual(
      (
        await run(
          t,
          paidBy(() => 'user:nullsoft:annul'),
        )
      ).warnings,
      [],
    )
  })
})

describe('TOLLGATE_LIMIT', () => {
  it('is warned of once where a limit looks like a number of requests', async (t) => {
    const { warnings } = await run(t, (_app, { throttle }) => {
      throttle({ limitMs: 100 })
      throttle({ routes: { '/': { limitMs: 999, windowMs: 60_000 } } })
    })
    assert.equal(warnings.length, 1)
    assert.match(
      warnings[0] as string,
      /limitMs: 100 lets each user work for 100 milliseconds in 60 s: .*: 100 requests of 180 ms are limitMs: 18_000 \(.*#tollgate_limit\)$/,
    )
  })

  it('names the route', async (t) => {
    const { warnings } = await run(t, (_app, { throttle }) => throttle({ routes: { '/a': { limitMs: 5 } } }))
    assert.match(warnings.join(), /routes\['\/a'\]: limitMs: 5 lets/)
  })

  it('is not warned of for a second, a short window or a function', async (t) => {
    const { warnings } = await run(t, (_app, { throttle }) => {
      throttle({ limitMs: 1_000 })
      throttle({ limitMs: 999, windowMs: 59_999 })
      throttle({ limitMs: () => 5 })
    })
    assert.deepEqual(warnings, [])
  })
})

describe('TOLLGATE_DIALECT', () => {
  const refusing = (t: TestContext, options: ThrottleOptions = {}, dialect?: string) =>
    run(t, (app, { throttle }) => {
      if (dialect) app.set('tollgate dialect', dialect)
      app.use(throttle({ limitMs: 1_000, ...options }), (req, _res, next) => {
        budgetOf(req).charge(2_000)
        next()
      })
    })

  it('is warned of once where an error is sent and nobody has chosen its format', async (t) => {
    const { bodies, warnings } = await refusing(t)
    assert.match(bodies.join(), /<code>429<[^]*<code>429</)
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(warnings[0] as string, /app\.set\('tollgate dialect', 'standard'\).*dialect: 'standard'/)
  })

  const chosen: [what: string, options: ThrottleOptions, dialect?: string][] = [
    ["dialect: 'familysearch'", { dialect: 'familysearch' }],
    ["errorFormat: 'json'", { errorFormat: 'json' }],
    ["app.set('tollgate dialect', 'familysearch')", {}, 'familysearch'],
    ['onDenied', { onDenied: (err, _req, res) => res.status(err.status).end() }],
    ['no refusal', { limitMs: 60_000 }],
  ]
  for (const [what, options, dialect] of chosen) {
    it(`is not warned of with ${what}`, async (t) => {
      assert.deepEqual((await refusing(t, options, dialect)).warnings, [])
    })
  }
})

describe('TOLLGATE_WINDOW', () => {
  it('is warned of once where a window is shorter than a second', async (t) => {
    const { warnings } = await run(t, (_app, { throttle }) => {
      throttle({ windowMs: 600 })
      throttle({ routes: { '/': { limitMs: 1, windowMs: 10 } } })
    })
    assert.equal(warnings.length, 1)
    assert.match(
      warnings[0] as string,
      /windowMs: 600 is a window of 600 milliseconds; 600 seconds are windowMs: 600_000 \(express-tollgate\/docs\/troubleshooting\.md#tollgate_window\)$/,
    )
  })

  it('is not warned of for a second', async (t) => {
    assert.deepEqual((await run(t, (_app, { throttle }) => throttle({ windowMs: 1_000 }))).warnings, [])
  })
})

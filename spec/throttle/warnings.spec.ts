import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { TYPESCRIPT } from '../support/typescript'

// Each app runs in a process of its own, because a warning is said once in each.

const HEAD = `
  const express = require('express')
  const session = require('express-session')
  const passport = require('passport')
  const { addressSubject, throttle } = require('./lib')
  const sessions = session({ secret: 'of 32 random bytes', resave: false, saveUninitialized: false })
  passport.serializeUser((user, done) => done(null, user.id))
  passport.deserializeUser((id, done) => done(null, { id }))
  passport.use('local', { authenticate(req) { this.success({ id: req.query.who }) } })
  const userOrAddress = (req) => (req.user ? 'user:' + req.user.id : addressSubject(req))
  const app = express()`

/** Signs in once, then asks twice; prints the subjects. */
const TAIL = `
  app.post('/login', passport.authenticate('local'), (req, res) => void res.end(req.throttle.subject))
  app.post('/token', passport.authenticate('local', { session: false }), (req, res) => void res.end(req.throttle.subject))
  app.get('/', (req, res) => void res.end(req.throttle?.subject))
  app.use((err, req, res, next) => void res.status(500).end(err.message))
  const server = app.listen(0, '127.0.0.1', async () => {
    const url = 'http://127.0.0.1:' + server.address().port
    const login = await fetch(url + '/login?who=ada', { method: 'POST' })
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
    for (const path of paths) {
      const asks = path === '/' ? { headers: { cookie } } : { method: 'POST', headers: path.includes('?') ? {} : { authorization: 'Basic YTpi' } }
      console.log(await (await fetch(url + path, asks)).text())
    }
    server.closeAllConnections()
    server.close()
  })`

async function run(app: string, paths = ['/', '/']): Promise<{ stdout: string; warnings: string[] }> {
  const script = `${HEAD};${app};const paths = ${JSON.stringify(paths)};${TAIL}`
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...TYPESCRIPT, '--eval', script])
  return { stdout, warnings: stderr.split('\n').filter((line) => line.includes('[TOLLGATE_')) }
}

describe('TOLLGATE_ORDER', { concurrency: 2 }, () => {
  const wrong: [what: string, app: string, remedy: RegExp, paths?: string[]][] = [
    [
      'no subject is given',
      'app.use(sessions, passport.session(), throttle())',
      /give throttle\(\) a subject that reads req\.user, and mount it after/,
    ],
    [
      'throttle() stands before passport.session()',
      'app.use(sessions, passport.initialize(), throttle({ subject: userOrAddress }), passport.session())',
      /the user; mount throttle\(\) after the middleware that sets req\.user/,
    ],
    [
      'throttle() stands before the session itself',
      'app.use(throttle({ subject: userOrAddress }), sessions, passport.session())',
      /the user; mount throttle\(\) after/,
    ],
    [
      "a route's own authentication comes after it",
      'app.use(sessions, passport.session(), throttle({ subject: userOrAddress }))',
      /the user; mount throttle\(\) after/,
      ['/token'],
    ],
    [
      'a middleware of the app sets req.user later',
      `app.use(throttle({ subject: (req) => req.user?.id ?? req.ip }));
       app.use((req, res, next) => { req.user = { id: 'ada' }; setImmediate(next) })`,
      /the user; mount throttle\(\) after/,
    ],
  ]
  for (const [what, app, remedy, paths] of wrong) {
    it(`is warned of once where ${what}`, async () => {
      const { warnings } = await run(app, paths)
      assert.equal(warnings.length, 1, warnings.join('\n'))
      assert.match(warnings[0] as string, /\[TOLLGATE_ORDER\] .*charged an address, and req\.user was set/)
      assert.match(warnings[0] as string, remedy)
    })
  }

  const right: [what: string, app: string, stdout: string][] = [
    [
      'the user pays',
      'app.use(sessions, passport.session(), throttle({ subject: userOrAddress }))',
      'user:ada\nuser:ada\n',
    ],
    [
      'the address is meant to pay',
      'app.use(throttle({ subject: addressSubject }), sessions, passport.session())',
      'address:127.0.0.1\naddress:127.0.0.1\n',
    ],
    [
      'the address is meant to pay first',
      `app.use(throttle({ subject: addressSubject, name: 'logins' }), sessions, passport.session());
       app.use(throttle({ subject: userOrAddress, limitMs: 1_000 }))`,
      'user:ada\nuser:ada\n',
    ],
  ]
  for (const [what, app, stdout] of right) {
    it(`is not warned of where ${what}, the login included`, async () => {
      assert.deepEqual(await run(app), { stdout, warnings: [] })
    })
  }

  for (const [what, app] of [
    ['where the app has none', 'app.use(throttle({ subject: userOrAddress }))'],
    ['where the app has some', 'app.use(sessions, passport.session(), throttle({ subject: userOrAddress }))'],
  ] as const) {
    it(`is not warned of at a login that starts no session, ${what}`, async () => {
      assert.deepEqual((await run(app, ['/token?who=ada'])).warnings, [])
    })
  }
})

describe('TOLLGATE_SUBJECT', { concurrency: 2 }, () => {
  const missing: [returned: string, subject: string, warning: RegExp][] = [
    ['user:undefined', '(req) => `user:${req.user?.id}`', /subject\(req\) returned a string that ends in "undefined"/],
    [
      'tenant:7:null',
      'function payer() { return `tenant:7:${null}` }',
      /subject, the function payer, returned .*"null"/,
    ],
    ['key:NaN', '() => `key:${Number("x")}`', /subject\(req\) returned a string that ends in "NaN"/],
    ['undefined', '(req) => String(req.account)', /subject\(req\) returned a string that ends in "undefined"/],
    ['user:[object Object]', '() => `user:${{ id: 1 }}`', /ends in "\[object Object\]"/],
  ]
  for (const [returned, subject, warning] of missing) {
    it(`is warned of once where subject returns ${returned}`, async () => {
      const { stdout, warnings } = await run(`app.use(throttle({ subject: ${subject} }))`)
      assert.equal(stdout, `${returned}\n${returned}\n`)
      assert.equal(warnings.length, 1, warnings.join('\n'))
      assert.match(warnings[0] as string, /\[TOLLGATE_SUBJECT\]/)
      assert.match(warnings[0] as string, warning)
    })
  }

  it('is not warned of where an id only looks like it', async () => {
    const { warnings } = await run("app.use(throttle({ subject: () => 'user:nullsoft:annul' }))")
    assert.deepEqual(warnings, [])
  })
})

describe('subject(req) that returns undefined', { concurrency: 2 }, () => {
  it('has the default payer pay: the address', async () => {
    const { stdout, warnings } = await run('app.use(throttle({ subject: (req) => req.user?.id }))')
    assert.deepEqual([stdout, warnings], ['address:127.0.0.1\naddress:127.0.0.1\n', []])
  })

  it('has the user pay where one is signed in', async () => {
    const app = 'app.use(sessions, passport.session(), throttle({ subject: (req) => req.user?.id }))'
    assert.deepEqual(await run(app), { stdout: 'ada\nada\n', warnings: [] })
  })

  for (const [returned, error] of [
    ['""', /return a string that is not empty, undefined for the default payer, or null to exempt.*returned ''/],
    ['7', /it returned 7; write String\(id\)/],
    ['Promise.resolve("ada")', /subject returned a promise/],
    ['{}', /it returned \{\}/],
  ] as const) {
    it(`and is an error where it returns ${returned}`, async () => {
      assert.match((await run(`app.use(throttle({ subject: () => (${returned}) }))`)).stdout, error)
    })
  }
})

describe('TOLLGATE_LIMIT', { concurrency: 2 }, () => {
  it('is warned of once where a limit looks like a number of requests', async () => {
    const { warnings } = await run(
      "throttle({ limitMs: 100 }); throttle({ routes: { '/': { limitMs: 999, windowMs: 60_000 } } })",
    )
    assert.equal(warnings.length, 1)
    assert.match(
      warnings[0] as string,
      /limitMs: 100 lets each user work for 100 milliseconds in 60 s: .*: 100 requests of 180 ms are limitMs: 18_000 \(.*#tollgate_limit\)$/,
    )
  })

  it('names the route', async () => {
    const { warnings } = await run("throttle({ routes: { '/a': { limitMs: 5 } } })")
    assert.match(warnings.join(), /routes\['\/a'\]: limitMs: 5 lets/)
  })

  it('is not warned of for a second, a short window or a function', async () => {
    const app =
      'throttle({ limitMs: 1_000 }); throttle({ limitMs: 999, windowMs: 59_999 }); throttle({ limitMs: () => 5 })'
    assert.deepEqual((await run(app)).warnings, [])
  })
})

describe('TOLLGATE_DIALECT', { concurrency: 2 }, () => {
  const refusing = (options = '{}', setting = '') =>
    run(
      `${setting};app.use(throttle({ limitMs: 1_000, ...${options} }), (req, res, next) => { req.throttle.charge(2_000); next() })`,
    )

  it('is warned of once where an error is sent and nobody has chosen its format', async () => {
    const { stdout, warnings } = await refusing()
    assert.match(stdout, /<code>429<[^]*<code>429</)
    assert.equal(warnings.length, 1, warnings.join('\n'))
    assert.match(warnings[0] as string, /app\.set\('tollgate dialect', 'standard'\).*dialect: 'standard'/)
  })

  for (const [options, setting] of [
    ["{ dialect: 'familysearch' }"],
    ['{ errorFormat: "json" }'],
    ['{}', "app.set('tollgate dialect', 'familysearch')"],
    ['{ onDenied: (err, req, res) => res.status(err.status).end() }'],
    ['{ limitMs: 60_000 }'],
  ] as const) {
    it(`is not warned of with ${options} ${setting ?? ''}`, async () => {
      assert.deepEqual((await refusing(options, setting)).warnings, [])
    })
  }
})

describe('TOLLGATE_WINDOW', () => {
  it('is warned of once where a window is shorter than a second', async () => {
    const { warnings } = await run(
      "throttle({ windowMs: 600 }); throttle({ routes: { '/': { limitMs: 1, windowMs: 10 } } })",
    )
    assert.equal(warnings.length, 1)
    assert.match(
      warnings[0] as string,
      /windowMs: 600 is a window of 600 milliseconds; 600 seconds are windowMs: 600_000 \(express-tollgate\/docs\/troubleshooting\.md#tollgate_window\)$/,
    )
  })

  it('is not warned of for a second', async () => {
    assert.deepEqual((await run('throttle({ windowMs: 1_000 })')).warnings, [])
  })
})

// Warnings of set-ups that a request reveals: addresses, routes, throttles per request, payers, processes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express, { type Express, type Request, type Response } from 'express'
import { addressSubject, throttle } from '../../lib'
import { warnOfProcesses } from '../../lib/throttle/setup/warnings'
import { serve } from '../support/serve'
import { until } from '../support/until'

// Each warning is said once in a process: what must not be warned of stands first.

const told: { code: string; message: string }[] = []
process.on('warning', ({ message, ...rest }) => {
  told.push({ message, code: (rest as { code?: string }).code ?? '' })
})

/** What was warned of since, of this code. */
async function warnings(code: string): Promise<string[]> {
  await new Promise((resolve) => setImmediate(resolve))
  const found = told.filter((warning) => warning.code === code).map(({ message }) => message)
  told.length = 0
  return found
}

const HOUR = { limitMs: 100, windowMs: 3_600_000 }

async function asking(app: Express) {
  app.use((req, res) => {
    req.throttle?.charge(200)
    res.send(req.throttle?.subject)
  })
  const { get } = await serve(app)
  return get
}

describe('TOLLGATE_SUBJECT for a whole IPv6 address', () => {
  const ask = async (subject: (req: Request) => string) => {
    const get = await asking(
      express()
        .set('trust proxy', 1)
        .use(throttle({ ...HOUR, subject })),
    )
    await get('/', { 'X-Forwarded-For': '2001:db8:1:2::7' })
    return warnings('TOLLGATE_SUBJECT')
  }

  const OTHERS = ['203.0.113.7', '::ffff:203.0.113.7', '2001:db8:1:2::/64', '2001:db8:1:2::', 'acme::7', '2024:12:31']
  for (const who of OTHERS)
    it(`is not said of ${who}`, async () => {
      assert.deepEqual(await ask(() => who), [])
    })

  it('is not said of addressSubject(), and once of req.ip', async () => {
    assert.deepEqual(await ask((req) => `user:${addressSubject(req)}`), [])
    const [first] = await ask((req) => `ip:${req.ip}:${req.path}`)
    assert.match(first ?? '', /returned a whole IPv6 address.*return addressSubject\(req\) in place of req\.ip/)
    assert.deepEqual(await ask((req) => req.ip as string), [])
  })
})

describe('TOLLGATE_ROUTES', () => {
  const ask = async (mount: string, keys: string[], path: string) => {
    const routes = Object.fromEntries(keys.map((key) => [key, false as const]))
    const get = await asking(express().use(mount, throttle({ ...HOUR, subject: () => 'probe', routes })))
    await get(path)
    return warnings('TOLLGATE_ROUTES')
  }

  for (const [mount, keys, path] of [
    ['/api', ['/api/health'], '/api/health'],
    ['/api', ['/health'], '/api/items'],
    ['/', ['/health'], '/api/health'],
    ['/api', ['/:part/health'], '/api/health'],
  ] as const)
    it(`is not said of ${keys.join()} below ${mount} for ${path}`, async () => {
      assert.deepEqual(await ask(mount, [...keys], path), [])
    })

  for (const [mount, key, path, whole] of [
    ['/api', '/health', '/api/health', '"/api/health"'],
    ['/v1', 'GET /items/:id', '/v1/items/7', '"/v1/items/:id"'],
    ['/admin', '/', '/admin', '"/admin"'],
    ['/v2/users', '/users/:id', '/v2/users/7', '"/v2/users/:id"'],
  ] as const)
    it(`is said once of ${key} below ${mount}`, async () => {
      const [first] = await ask(mount, ['/other', key], path)
      assert.ok(first?.includes(`write ${whole.replaceAll('"', "'")}`) || first?.includes(`write ${whole}`), first)
      assert.deepEqual(await ask(mount, [key], path), [])
    })
})

describe('TOLLGATE_PER_REQUEST', () => {
  it('is not said of throttles that are made at the start, nor of those that are kept', async () => {
    const app = express()
    const kept = new Map<string, ReturnType<typeof throttle>>()
    for (const path of ['/a', '/b', '/c', '/d', '/e', '/f']) app.use(path, throttle({ ...HOUR, subject: () => 'ada' }))
    app.use('/t/:tenant', (req, res, next) => {
      const { tenant } = req.params
      const own = kept.get(tenant) ?? throttle({ ...HOUR, name: tenant, subject: () => 'ada' })
      kept.set(tenant, own)
      own(req, res, next)
    })
    const get = await asking(app)
    for (const path of ['/a', '/b', '/c', '/d', '/e', '/f']) await get(path)
    for (let n = 0; n < 12; n++) await get(`/t/${n}`)
    assert.deepEqual(await warnings('TOLLGATE_PER_REQUEST'), [])
  })

  it('is said once where throttle() is called for each request, also after an await', async () => {
    const app = express().use(async (req, res, next) => {
      await Promise.resolve()
      throttle({ ...HOUR, subject: () => 'ada' })(req, res, next)
    })
    const get = await asking(app)
    for (let n = 0; n < 10; n++) await get('/')
    const [first, ...more] = await warnings('TOLLGATE_PER_REQUEST')
    assert.match(first ?? '', /call it once, outside of the handler, and let limitMs be a function of the request/)
    assert.deepEqual(more, [])
  })
})

describe('TOLLGATE_SHARED_PAYER', () => {
  const user = (req: Request) => req.get('x-user')
  const team = () => 'team'
  /** One request after the other; one of each inner subject runs at a time. */
  const ask = async (outer: (req: Request) => string | undefined, inner: typeof outer, users: readonly string[]) => {
    let [arrived, answered] = [0, 0]
    const running: Response[] = []
    const app = express().use((_req, _res, next) => (arrived++, next()))
    app.use(throttle({ name: 'outer', subject: outer }), throttle({ name: 'inner', subject: inner, concurrency: 1 }))
    app.use((_req, res) => void running.push(res))
    const { get } = await serve(app)
    for (const [before, name] of users.entries()) {
      void get('/', { 'x-user': name }).then(() => answered++)
      await until(() => arrived, before + 1)
    }
    await until(() => (running.shift()?.end(), answered), users.length)
    return warnings('TOLLGATE_SHARED_PAYER')
  }

  it("is not said of a user's throttle before the team's, nor where one subject pays in both", async () => {
    assert.deepEqual(await ask(user, team, ['ada', 'bob', 'bob']), [])
    assert.deepEqual(await ask(user, user, ['ada', 'bob', 'bob']), [])
    assert.deepEqual(await ask(team, user, ['ada', 'bob']), []) // nobody waits
  })

  it("is said once of a team's throttle before the user's in which a request waits", async () => {
    const [first, ...more] = await ask(team, user, ['ada', 'bob', 'bob', 'bob'])
    assert.match(
      first ?? '',
      /wait in the window ["']inner["'].*window ["']outer["'].*the user's throttle before the team's/,
    )
    assert.deepEqual(more, [])
  })
})

describe('TOLLGATE_PROCESSES', () => {
  for (const [what, env, worker] of [
    ['one process', {}, undefined],
    ['the one worker of a cluster', {}, 1],
    ['the one process of PM2', { pm_id: '0', NODE_APP_INSTANCE: '0', instances: '1' }, 7],
  ] as const)
    it(`is not said of ${what}`, async () => {
      warnOfProcesses(env, worker)
      assert.deepEqual(await warnings('TOLLGATE_PROCESSES'), [])
    })

  it('is said once of the second process of PM2, or worker of a cluster', async () => {
    warnOfProcesses({ pm_id: '1', NODE_APP_INSTANCE: '1' }, undefined)
    warnOfProcesses({}, 2)
    const [first, ...more] = await warnings('TOLLGATE_PROCESSES')
    assert.match(first ?? '', /one of several processes \(PM2\).*set store: redisStore\('redis:/)
    assert.deepEqual(more, [])
  })
})

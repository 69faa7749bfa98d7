// Which window a path belongs to: as Express routes it, and the strictest where servers differ.
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, it } from 'node:test'
import express, { type Express, type Request, type RequestHandler, type Response, Router } from 'express'
import { routeMatcher, type RouteEntry } from '../../../lib/http/request/route-match'
import { serve } from '../../support/serve'
import { budgetOf, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { EXPRESS_VERSIONS } from '../../support/express-versions'

const entry = (path: string, ...methods: string[]): RouteEntry<string> => {
  const value = [...methods, path].join(' ')
  return methods.length === 0 ? { path, value } : { path, value, methods: new Set(methods) }
}

/** Answers with the entry found; asked with a request target that is sent as it is. */
async function asking(
  entries: readonly RouteEntry<string>[],
  app: RequestListener = express(),
  mount = (handler: RequestHandler): unknown => (app as Express).use(handler),
) {
  const match = routeMatcher('routes', entries)
  const handler: RequestHandler = (req, res) => void res.setHeader('X-Found', match(req) ?? 'nothing').end()
  mount(handler)
  const { raw } = await serve(app)
  return async (target: string, method = 'GET') => {
    const answer = await raw(`${method} ${target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`)
    return /^X-Found: (.*)$/m.exec(answer)?.[1] ?? answer.split('\r\n')[0]
  }
}

async function every(ask: (target: string) => Promise<unknown>, targets: readonly string[], found: string) {
  for (const target of targets) assert.equal(await ask(target), found, target)
}

describe('routeMatcher()', () => {
  it('takes a path as a prefix on whole segments, as app.use() does', async () => {
    const ask = await asking([entry('/a/b')])
    await every(ask, ['/a/b', '/a/b/', '/a/b/c', '/a/b?x=1', '/a/b/?x', '/a/b//'], '/a/b')
    await every(ask, ['/', '/a', '/a/bc', '/x/a/b', '/a/b;x', '/a'], 'nothing')
  })

  it('finds the first entry that matches, and goes by method', async () => {
    const ask = await asking([entry('/a', 'POST', 'PUT'), entry('/a', 'GET'), entry('/:any'), entry('/b')])
    assert.equal(await ask('/a', 'PUT'), 'POST PUT /a')
    assert.equal(await ask('/a'), 'GET /a')
    assert.equal(await ask('/a', 'HEAD'), 'GET /a')
    assert.equal(await ask('/a', 'DELETE'), '/:any')
    assert.equal(await ask('/a', 'OPTIONS'), '/:any')
    assert.equal(await ask('/b'), '/:any')
  })

  it("takes '/' for the home page alone", async () => {
    const ask = await asking([entry('/', 'GET')])
    assert.deepEqual(await Promise.all(['/', '/?page=2'].map((path) => ask(path))), ['GET /', 'GET /'])
    assert.equal(await ask('/', 'HEAD'), 'GET /')
    await every(ask, ['/a', '/a/'], 'nothing')
  })

  it('does not lose the answer behind hundreds of entries', async () => {
    const many = Array.from({ length: 300 }, () => entry('/a', 'POST'))
    const ask = await asking([...many, entry('/a', 'GET')])
    assert.equal(await ask('/a'), 'GET /a')
  })

  it('treats case, a trailing slash and encoded letters as Express does', async () => {
    const ask = await asking([entry('/Places'), entry('/b%20c'), entry('/é')])
    await every(ask, ['/places', '/PLACES/', '/pLaCeS/7'], '/Places')
    await every(ask, ['/pl%61ces', '/places%2f7', '/places%00'], 'nothing')
    assert.equal(await ask('/b%20c'), '/b%20c')
  })

  it('goes by the app’s routing settings', async () => {
    const strict = express().set('case sensitive routing', true).set('strict routing', true)
    const ask = await asking([entry('/Places')], strict)
    assert.deepEqual(
      [await ask('/Places/'), await ask('/Places'), await ask('/places')],
      ['/Places', '/Places', 'nothing'],
    )
  })

  it('takes the full path inside sub-routers and sub-apps', async () => {
    const app = express()
    const ask = await asking([entry('/v1/tree/search'), entry('/v1')], app, (handler) => {
      app.use('/v1', express().use('/:what', Router().use(handler)))
    })
    await every(
      ask,
      ['/v1/tree/search', '/v1/TREE/search/', '/V1/tree/search/x?y', '/v1/tree/search//'],
      '/v1/tree/search',
    )
    await every(ask, ['/v1/tree', '/v1/tree/'], '/v1')
  })

  it('takes the full path in a router without an app, mounted ones and rewritten targets included', async () => {
    const router = Router()
    const alone: RequestListener = (req, res) => router(req as Request, res as Response, () => res.end())
    const ask = await asking([entry('/v1/tree')], alone, (handler) => {
      router.use('/old', (req, _res, next) => ((req.url = '/v1/tree'), next()))
      router.use('/v1', handler)
    })
    await every(ask, ['/v1/tree', '/v1/tree/?q=/', 'http://a.test/v1/tree'], '/v1/tree')
    await every(ask, ['/v1', '/v1?q=/v1/tree'], 'nothing')
  })

  it('takes what Express drops from a path as dropped', async () => {
    const app = express()
    const ask = await asking([entry('/v1/search')], app, (handler) => app.use('/:version', Router().use(handler)))
    // Express 4 lets a sub-router's mount path take one slash more, and routes to what stands behind it.
    assert.equal(await ask('/v1//search'), process.env.EXPRESS === '4' ? '/v1/search' : 'nothing')
  })

  it('takes the path out of an absolute request target (RFC 9112 §3.2.2)', async () => {
    const ask = await asking([entry('/a')])
    await every(ask, ['http://a.test/a', 'http://evil.test/a/b?c', 'https://a.test/A'], '/a')
    await every(ask, ['http://a.test/', 'http://a.test', 'http://a.test/b/a', 'http://a/b'], 'nothing')
  })

  it('does not take a path with a slash too many for the one without', async () => {
    const ask = await asking([entry('/a/b')])
    await every(ask, ['//a/b', '/a//b', '//a.test/a/b', '/./a/b', '/x/../a/b'], 'nothing')
  })

  it('takes Express’s own path syntax', async () => {
    const ask = await asking([entry('/persons/:id/notes'), entry('/persons')])
    assert.equal(await ask('/persons/7/notes/1'), '/persons/:id/notes')
    assert.equal(await ask('/persons/a%2Fb/notes'), '/persons/:id/notes')
    assert.equal(await ask('/persons/7'), '/persons')
  })

  it('skips an entry, and no other, that cannot decode the path', async () => {
    const ask = await asking([entry('/a/:id'), entry('/b/:id', 'GET'), entry('/:any/x'), entry('/a'), entry('/c/:id')])
    await every(ask, ['/a/%ff', '/a/%zz/7', '/a/%', '/a/%e0%a4%a'], '/a')
    await every(ask, ['/b/%ff', '/%ff/x', '/c/%ff'], 'nothing') // Express itself answers 400 where it routes by that
    assert.equal(await ask('/a/7'), '/a/:id')
  })

  it('sees the method and path that earlier middleware has put there', async () => {
    const app = express()
    const ask = await asking([entry('/b', 'POST')], app, (handler) => {
      app.use((req, _res, next) => ((req.url = '/b'), (req.method = 'POST'), next()), handler)
    })
    assert.equal(await ask('/a'), 'POST /b')
  })

  it('changes nothing about the request', async () => {
    const match = routeMatcher('routes', [entry('/a/:id')])
    const app = express().use('/a', (req, res) => {
      const before = [req.url, req.baseUrl, req.originalUrl, req.params, req.next]
      assert.equal(match(req), '/a/:id')
      assert.deepEqual([req.url, req.baseUrl, req.originalUrl, req.params, req.next], before)
      res.end()
    })
    assert.match(
      await (await serve(app)).raw('GET /a/7 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1.1 200/,
    )
  })
})

for (const [version, make] of EXPRESS_VERSIONS) {
  describe(`throttle({ routes }) on ${version} and a path with dot segments`, () => {
    const limits = { '/assets': 0, '/bulk': 100_000, '/search': 1_000, '/export/:id': 500, '/plan': 2_000 }

    /** The window that a request target is charged to, sent as it is. */
    async function asking() {
      const app = make()
      const routes = {
        '/assets': false as const,
        '/bulk': { limitMs: limits['/bulk'] },
        '/search': { limitMs: limits['/search'] },
        '/export/:id': { limitMs: limits['/export/:id'] },
        '/plan': { limitMs: (req: express.Request) => Number(req.get('X-Plan') ?? limits['/plan']) },
      }
      app.use(throttle({ limitMs: 18_000, routes, subject: () => 'ada', clock: manualClock() })) // nothing is used
      app.use((req, res) => void res.set('X-Window', req.throttle ? budgetOf(req).window : 'none').end())
      const { raw } = await serve(app)
      return async (target: string, field = 'X-Nothing: 1') => {
        const answer = await raw(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n${field}\r\nConnection: close\r\n\r\n`)
        return /^X-Window: (.*)$/m.exec(answer)?.[1] ?? answer.split('\r\n')[0]
      }
    }

    it('charges a path that servers read alike to its own window', async () => {
      const ask = await asking()
      const to: Record<string, string[]> = {
        none: ['/assets', '/assets/a.b', '/assets/.hidden', '/assets/...', '/assets/a..b/c', 'http://a.test/assets'],
        '/bulk': ['/bulk', '/bulk/x'],
        '/search': [
          ...['/search', '/search/x%20y', '/search?q=//a/../b', '/search/7;v=1', '/search/a%2Fb'],
          ...['/search/caf%C3%A9', '/search/%zz', '/search/x%3A7'],
        ],
        '/export/:id': ['/export/7'],
        default: ['/other', '/', '/other;v=1'],
      }
      for (const [window, targets] of Object.entries(to)) {
        for (const target of targets) assert.equal(await ask(target), window, target)
      }
    })

    it('charges a path that servers read differently to the strictest of all windows', async () => {
      const ask = await asking()
      const targets = [
        ...['/assets/../search', '/assets/%2e%2e/search', '/assets/.%2e/search', '/assets/..%2Fsearch'],
        ...['/assets%2F..%2Fsearch', '/assets/..\\search', '/assets/%252e%252e/search', '/assets/..;a=b/search'],
        ...['/assets/./logo', '/assets/..', '/bulk/../other', '/search/.', '/search/../assets', '/../../search'],
        ...['http://a.test/assets/../search', 'http://evil.test/assets/%2e%2e/search?x', '/x/..//search'],
        ...['/sear%63h', '//search', '//x/search', '/%73earch/x', '/sear%2563h', '/\\search', '/search//x'],
        ...['/ass%65ts/logo', '//assets/logo', '/assets//logo', '/assets/l%6fgo', '/other//x', '/%6fther'],
        ...['/search;v=1', '/search%3bv', '/assets;a/logo', '/%2fsearch', '/search%2f/x', '/other/%5c%5Cx'],
      ]
      for (const target of targets) assert.equal(await ask(target), '/export/:id', target)
    })

    it('asks the functions for this request', async () => {
      const ask = await asking()
      assert.equal(await ask('/search/../plan'), '/export/:id')
      assert.equal(await ask('//plan', 'X-Plan: 499'), '/plan')
      assert.equal(await ask('/assets/../other', 'X-Plan: 499'), '/plan')
    })

    it('charges the narrower window where an entry before it cannot decode the path', async () => {
      const app = make()
      const windowMs = 86_400_000
      const routes = { '/tree/:id': { limitMs: windowMs }, '/tree': { limitMs: windowMs / 2 } }
      app.use(throttle({ windowMs, routes, subject: () => 'ada' }))
      app.use((req, res) => void res.set('X-Window', budgetOf(req).window).end())
      const { raw } = await serve(app)
      for (const [id, window] of Object.entries({ 7: '/tree/:id', '%ff': '/tree', '%': '/tree', '%zz/7': '/tree' })) {
        const answer = await raw(`GET /tree/${id} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`)
        assert.equal(/^X-Window: (.*)$/m.exec(answer)?.[1], window, id)
      }
    })
  })
}

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { budgetOf, throttle } from '../../../lib'
import { isPlainPath, pathReadings } from '../../../lib/http/request/dot-segments'
import { EXPRESS_VERSIONS } from '../../support/express-versions'
import { serve } from '../../support/serve'

describe('pathReadings()', () => {
  const READ: [path: string, as: string][] = [
    ['/assets/../search', '/search'],
    ['/assets/%2e%2E/search', '/search'],
    ['/assets/.%2e/search', '/search'],
    ['/assets/..%2fsearch', '/search'],
    ['/assets%2F..%2Fsearch', '/search'],
    ['/assets/..\\search', '/search'],
    ['/assets\\..\\search', '/search'],
    ['/assets/%2e%2e%5csearch', '/search'],
    ['/assets/%252e%252e/search', '/search'],
    ['/assets/%25252e%25252e%25252fsearch', '/search'],
    ['/assets/..;v=1/search', '/search'],
    ['/assets//..//search', '/search'],
    ['/assets/x/./../../search', '/search'],
    ['/../../search', '/search'],
    ['/search/.', '/search/'],
    ['/search/x/..', '/search/'],
    // Readings in which only some of it is decoded:
    ['/a/b%2fc/../search', '/a/search'],
    ['/a/b%2fc/../search', '/a/b/search'],
    ['/x/%252e%252e/..%2fsearch', '/x/search'],
    ['/sear%63h', '/search'],
    ['/%73%65arch/x%2Dy%7e', '/search/x-y~'],
    ['/sear%2563h', '/search'],
    ['//search', '/search'],
    ['/x//search///y', '/x/search/y'],
    ['/\\search', '/search'],
    ['//sear%63h', '//search'],
    ['/assets/%2e%2e//s%65arch', '//search'], // as the URL standard has it
    ['/assets/%2e%2e//s%65arch', '/search'],
  ]
  for (const [path, as] of READ) it(`${path} may be taken for ${as}`, () => assert.ok(pathReadings(path).includes(as)))

  for (const path of ['/search', '/a/%20b', '/a/b%2Fc', '/a;v=1', '/caf%C3%A9', '/a.b/...', '/%zz', '/x%3A7'])
    it(`${path} is read alike by all`, () => assert.deepEqual([isPlainPath(path), pathReadings(path)], [true, [path]]))

  it('are few, and begin with the path itself', () => {
    const path = '/' + '%2525252525252e'.repeat(1_000) + '/..;x%25252f\\..//%2e/a'
    const [first, ...others] = pathReadings(path)
    assert.equal(first, path)
    assert.ok(others.length <= 20, `${others.length}`)
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
      app.use(throttle({ limitMs: 18_000, routes, subject: () => 'ada' }))
      app.use((req, res) => void res.set('X-Window', req.throttle ? budgetOf(req).window : 'none').end())
      const { raw } = await serve(app)
      return async (target: string, field = 'X-Nothing: 1') => {
        const answer = await raw(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n${field}\r\nConnection: close\r\n\r\n`)
        return /^X-Window: (.*)$/m.exec(answer)?.[1] ?? answer.split('\r\n')[0]
      }
    }

    it('charges the strictest window that it may fall into, and exempts nothing', async () => {
      const ask = await asking()
      const to: Record<string, string[]> = {
        none: ['/assets', '/assets/a.b', '/assets/.hidden', '/assets/...', '/assets/a..b/c', 'http://a.test/assets'],
        '/bulk': ['/bulk', '/bulk/x'],
        default: [
          ...['/assets/../other', '/assets/./logo', '/assets/%2e/logo', '/assets/..', '/bulk/./x', '/bulk/../other'],
          ...['/assets/..%2fother', '/assets/..\\other', 'http://a.test/assets/../other', '/bulk/%2e%2e/bulk'],
        ],
        '/search': [
          ...['/search', '/assets/../search', '/assets/%2e%2e/search', '/bulk/../search', '/assets/..%2Fsearch'],
          ...['/assets/..%5csearch', '/assets/..\\search', '/assets/%252e%252e/search', '/assets/..;a=b/search'],
          ...['http://a.test/assets/../search', 'http://evil.test/assets/%2e%2e/search?x', '/x/..//search'],
          ...['/search/../assets', '/search/../bulk', '/search/.', '/assets/%2e%2e%2fsearch/7'],
        ],
        '/export/:id': ['/export/7', '/assets/../export/7', '/search/../export/7', '/export/7/../../search'],
      }
      for (const [window, targets] of Object.entries(to)) {
        for (const target of targets) assert.equal(await ask(target), window, target)
      }
    })

    it('charges the strictest window of a path in another spelling, and exempts what all readings exempt', async () => {
      const ask = await asking()
      const to: Record<string, string[]> = {
        '/search': ['/sear%63h', '//search', '/%73earch/x', '/sear%2563h', '//x/..//search', '/\\search', '/search//x'],
        '/export/:id': ['/export//7', '//export/7', '/%65xport/7', '/export/%37'],
        '/bulk': ['/bulk//x', '/bulk/%78'],
        // What Express itself does not route there is charged no less than usual.
        default: ['//bulk', '/b%75lk', '//assets/logo', '/ass%65ts/logo', '/other//x', '/%6fther'],
        none: ['/assets//logo', '/assets/l%6fgo', '/assets/a%2Fsearch', '/assets/%20'],
      }
      for (const [window, targets] of Object.entries(to)) {
        for (const target of targets) assert.equal(await ask(target), window, target)
      }
    })

    it('asks the functions for this request', async () => {
      const ask = await asking()
      assert.equal(await ask('/search/../plan'), '/search')
      assert.equal(await ask('/search/../plan', 'X-Plan: 999'), '/plan')
      assert.equal(await ask('/assets/../plan', 'X-Plan: 20000'), 'default')
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

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { budgetOf, throttle } from '../../../lib'
import { isPlainPath } from '../../../lib/http/request/dot-segments'
import { EXPRESS_VERSIONS } from '../../support/express-versions'
import { serve } from '../../support/serve'

describe('isPlainPath()', () => {
  for (const path of ['/search', '/a/%20b', '/a/b%2Fc', '/a;v=1', '/caf%C3%A9', '/a.b/...', '/%zz', '/x%3A7'])
    it(`${path} is read alike by all`, () => assert.equal(isPlainPath(path), true))
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

    it('charges a path that servers read alike to its own window', async () => {
      const ask = await asking()
      const to: Record<string, string[]> = {
        none: ['/assets', '/assets/a.b', '/assets/.hidden', '/assets/...', '/assets/a..b/c', 'http://a.test/assets'],
        '/bulk': ['/bulk', '/bulk/x'],
        '/search': ['/search', '/search/x%20y', '/search?q=//a/../b', '/search/7;v=1', '/search/a%2Fb'],
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
        ...['/search;v=1', '/search%3bv', '/assets;a/logo', '/%2fsearch', '/search%2f/x', '/other/%5c%5Cx'],
        ...['/ass%65ts/logo', '//assets/logo', '/assets//logo', '/assets/l%6fgo', '/other//x', '/%6fther'],
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

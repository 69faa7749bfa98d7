import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import express, { Router, type ErrorRequestHandler } from 'express'
import { allowUnauthenticated, requireBearer } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { withHelpLink } from '../support/help-link'
import { serve } from '../support/serve'
import { warned } from '../support/heard'

const dev = devIssuer()
const anonymous = `Bearer ${dev.token('app', { kind: 'unauthenticated' })}`
const ok: express.RequestHandler = (_req, res) => void res.send('ok')
const shown: ErrorRequestHandler = (err: Error, _req, res, _next) => void res.status(500).send(err.message)

/** Asks with a request target that is sent as it is. */
async function asking(app: express.Express) {
  const { raw } = await serve(app)
  return async (target: string, method = 'GET', authorization = anonymous) => {
    const request = `${method} ${target} HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n`
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await raw(`${request}Authorization: ${authorization}\r\n\r\n`))?.[1])
  }
}

describe('allowUnauthenticated({ paths })', () => {
  function app() {
    const app = express()
    app.use(allowUnauthenticated({ paths: ['/platform/places', '/platform/dates'] }))
    app.use(requireBearer(dev.options))
    app.use(ok)
    return app
  }

  it('lets unauthenticated sessions in on these paths and below, and nowhere else', async () => {
    const ask = await asking(app())
    for (const path of ['/platform/places', '/platform/places/7', '/platform/dates?x=/y'])
      assert.equal(await ask(path), 200)
    for (const path of '/ /platform /platform/placesx /platform/tree /x/platform/places /platform/place'.split(' '))
      assert.equal(await ask(path), 403, path)
  })

  it('permits GET and HEAD, unless methods says otherwise', async () => {
    const ask = await asking(app())
    assert.equal(await ask('/platform/places', 'HEAD'), 200)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      assert.equal(await ask('/platform/places', method), 403, method)
    }
    const searching = express().use(allowUnauthenticated({ paths: ['/search'], methods: ['POST'] }))
    searching.use(requireBearer(dev.options), ok)
    const search = await asking(searching)
    assert.deepEqual(
      [await search('/search', 'POST'), await search('/search'), await search('/search', 'HEAD')],
      [200, 403, 403],
    )
  })

  it('judges every spelling as Express routes it', async () => {
    const ask = await asking(app())
    const same = '/platform/places/ /PLATFORM/Places http://api.test/platform/places /platform/places//x'
    for (const path of same.split(' ')) assert.equal(await ask(path), 200, path)
    const others = '//platform/places /platform//places /platform/plac%65s /platform/places%2f /platform/places;x'
    for (const path of others.split(' ')) assert.equal(await ask(path), 403, path)
  })

  it('gives a path with dot segments no permission, however they are spelt', async () => {
    const ask = await asking(app())
    for (const segment of '.. . %2e%2e .%2E %252e%252e ..; ..;a=b ..%2f ..%2ftree ..%5c %2e%2e%3bx'.split(' ')) {
      for (const path of [`${segment}/tree`, segment, `a/${segment}/b`])
        assert.equal(await ask(`/platform/places/${path}`), 403, path)
    }
    assert.equal(await ask('/platform/places/...'), 200)
    assert.equal(await ask('/platform/places/a..b'), 200)
  })

  it('matches the full path, wherever requireBearer() is mounted', async () => {
    const places = Router().use(requireBearer(dev.options), ok)
    const platform = Router().use('/places', places).use('/tree', requireBearer(dev.options), ok)
    const sub = express().use('/platform', platform)
    const ask = await asking(
      express()
        .use(allowUnauthenticated({ paths: ['/v1/platform/places'] }))
        .use('/v1', sub),
    )
    assert.equal(await ask('/v1/platform/places/7'), 200)
    assert.equal(await ask('/V1/platform/places/'), 200)
    assert.equal(await ask('/v1/platform/tree'), 403)
  })

  it('matches the path and method at the moment of enforcement', async () => {
    const app = express().use(allowUnauthenticated({ paths: ['/places'] }))
    app.use((req, _res, next) => {
      if (req.query.url) req.url = '/tree'
      if (req.query.method) req.method = 'DELETE'
      next()
    })
    const ask = await asking(app.use(requireBearer(dev.options), ok))
    assert.deepEqual([await ask('/places'), await ask('/places?url=1'), await ask('/places?method=1')], [200, 403, 403])
  })

  it('follows the app’s routing settings', async () => {
    const strict = express().set('case sensitive routing', true)
    strict.use(allowUnauthenticated({ paths: ['/places'] }), requireBearer(dev.options), ok)
    const ask = await asking(strict)
    assert.deepEqual([await ask('/places'), await ask('/Places')], [200, 403])
  })

  it('lets nobody in by itself', async () => {
    const ask = await asking(app())
    assert.equal(await ask('/platform/places', 'GET', 'Bearer nonsense'), 401)
    assert.equal(await ask('/platform/places', 'GET', 'Basic x'), 401)
    assert.equal(await ask('/platform/tree', 'GET', `Bearer ${dev.token('ada')}`), 200)
  })
})

describe('allowUnauthenticated() on one route', () => {
  it('applies to that route', async () => {
    const app = express()
    app.get('/places', allowUnauthenticated(), requireBearer(dev.options), ok)
    app.use(requireBearer(dev.options), ok)
    const ask = await asking(app)
    assert.deepEqual([await ask('/places'), await ask('/places', 'POST'), await ask('/tree')], [200, 403, 403])
  })

  it('throws if it is on no route, even behind one', async () => {
    const app = express()
    app.all('/x', (_req, _res, next) => next())
    app.use(allowUnauthenticated(), requireBearer(dev.options), ok, shown)
    const ask = await asking(app)
    assert.deepEqual([await ask('/'), await ask('/x')], [500, 500])
    const { url } = await serve(app)
    assert.match(await (await fetch(url)).text(), /without paths must stand on one route; give it paths/)
  })
})

describe('allowUnauthenticated(), twice', () => {
  it('permits what either permits', async () => {
    const app = express().use(allowUnauthenticated({ paths: ['/places'] }), allowUnauthenticated({ paths: ['/dates'] }))
    const ask = await asking(app.use(requireBearer(dev.options), ok))
    assert.deepEqual([await ask('/places'), await ask('/dates'), await ask('/tree')], [200, 200, 403])
  })
})

describe('allowUnauthenticated() and copies of a request', () => {
  // As those make who answer several requests in one: the copy has the request's properties, and another address.
  const copies: Record<string, (req: express.Request) => express.Request> = {
    assigned: (req) => Object.assign(Object.create(Object.getPrototypeOf(req) as object) as object, req),
    derived: (req) => Object.create(req) as express.Request,
  }

  for (const [how, copy] of Object.entries(copies)) {
    it(`gives no rights to a copy (${how})`, async () => {
      const bearer = requireBearer(dev.options)
      const app = express()
      app.get('/open', allowUnauthenticated(), bearer, (req, res, next) => {
        const { auth } = req
        const other = Object.assign(copy(req), { url: '/closed', originalUrl: '/closed' })
        Object.assign(other, { auth: undefined })
        bearer(other, res, () => next(new Error('the copy was let in')))
        assert.equal(req.auth, auth)
      })
      app.use(shown)
      assert.equal(await (await asking(app))('/open'), 403)
    })
  }
})

describe('allowUnauthenticated() after requireBearer()', () => {
  it('says once that it comes too late, and not where another requireBearer() follows', async () => {
    const told = warned({ after }, 'TOLLGATE_UNAUTHENTICATED_ORDER')
    const bearer = () => requireBearer({ ...dev.options, optional: true })
    const get = async (app: express.Express) => {
      const { url } = await serve(app)
      assert.equal((await fetch(url)).status, 200)
      await setImmediate()
    }
    const route = express().use(bearer())
    await get(route.get('/', allowUnauthenticated(), bearer(), ok))
    await get(express().use(allowUnauthenticated({ paths: ['/'] }), bearer(), ok))
    assert.deepEqual(told, [])
    for (let i = 0; i < 2; i++) await get(express().use(bearer(), allowUnauthenticated({ paths: ['/'] }), ok))
    const message =
      'allowUnauthenticated() ran after requireBearer(), which had already refused the sessions that it would permit; ' +
      'mount allowUnauthenticated() first'
    assert.deepEqual(told, [withHelpLink('TOLLGATE_UNAUTHENTICATED_ORDER', message)])
  })
})

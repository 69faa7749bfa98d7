// Names of routes for figures: as the app wrote them, with nothing of what was asked for.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { routeAskedFor, routeName } from '../../lib/inspect/route-name'
import { EXPRESS_VERSIONS } from '../support/express-versions'
import { serve } from '../support/serve'

for (const [version, framework] of EXPRESS_VERSIONS) {
  describe(`routeName() with ${version}`, () => {
    /** What a request is named: in its handler, and before it was routed. */
    async function named(paths: readonly string[]) {
      const seen: (string | undefined)[] = []
      const asked: (string | undefined)[] = []
      const handler: express.RequestHandler = (req, res) => {
        seen.push(routeName(req))
        res.end()
      }
      const tree = framework.Router()
      tree.get('/tree', handler)
      tree.get('/', handler)
      const users = framework.Router()
      users.use('/:name', tree)
      users.use('/by/:id-:part', tree)
      const admin = framework()
      admin.get('/:section', handler)
      const app = framework()
      app.set('env', 'test') // errors are not printed
      app.use((req, _res, next) => {
        asked.push(routeAskedFor(req, { layers: 100 }))
        next()
      })
      app.use('/users', users)
      app.use('/teams/:team', users)
      app.use('/admin/:who', admin)
      app.get('/persons/:id', handler)
      const { get } = await serve(app)
      for (const path of paths) await get(path)
      return { seen, asked }
    }

    it('names mounts as the app wrote them, with their parameters', async () => {
      const { seen, asked } = await named([
        ...['/users/ada.lovelace/tree', '/users/ada', '/teams/blue/grace%40navy.mil/tree', '/persons/LWB1-ADA'],
        ...['/users/users/tree'],
      ])
      const names = ['GET /users/:name/tree', 'GET /users/:name/', 'GET /teams/:team/:name/tree', 'GET /persons/:id']
      assert.deepEqual(seen.slice(0, 4), names)
      assert.deepEqual(asked.slice(0, 4), names)
      assert.doesNotMatch(String(seen[4]), /users\/users/)
    })

    it('shows nothing of a mount that it cannot name', async () => {
      const { seen } = await named(['/users/by/ada-lovelace/tree', '/admin/ada/secrets'])
      assert.equal(seen.length, 2)
      for (const name of seen) assert.doesNotMatch(String(name), /ada|lovelace|secrets/, String(name))
    })

    it('names no route where none would be reached', async () => {
      const { asked } = await named(['/nowhere', '/persons/1/2', '/users/%ff/tree'])
      assert.deepEqual(asked, [undefined, undefined, undefined])
    })
  })
}

describe('routeAskedFor()', () => {
  it('tries no more layers of the router than it may, mounts included', async () => {
    const left: number[] = []
    const found: (string | undefined)[] = []
    const app = express()
    app.use((req, res) => {
      const lookUp = { layers: Number(req.get('layers')) }
      found.push(routeAskedFor(req, lookUp))
      left.push(lookUp.layers)
      res.end()
    })
    const inner = express.Router()
    for (let i = 0; i < 10; i++) inner.get(`/${i}`, (_req, res) => void res.end())
    app.use('/:area', inner)
    const { get } = await serve(app)
    for (const layers of ['12', '11', '3', '0']) await get('/a/9', { layers })
    await get(`/a/9${'/'.repeat(2_000)}`, { layers: '12' })
    assert.deepEqual(found, ['GET /:area/9', undefined, undefined, undefined, undefined])
    assert.ok(left.every((layers) => layers <= 12) && left[4] === 12, left.join())
  })
})

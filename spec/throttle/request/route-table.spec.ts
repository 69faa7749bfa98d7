import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RouteTable, folded } from '../../../lib/throttle/request/route-table'

describe('folded()', () => {
  const paths: [path: string, route: string][] = [
    ['/', '/'],
    ['/platform/tree/persons/L5FW-N8K', '/platform/tree/persons/:'],
    ['/platform/tree/persons/KWCJ-RNV/notes', '/platform/tree/persons/:/notes'],
    ['/users/42', '/users/:'],
    ['/users/018f3c1e-7b1a-7c3e-9d2b-0a1b2c3d4e5f/', '/users/:/'],
    ['/files/%2e%2e', '/files/:'],
    ['/a/' + 'x'.repeat(33), '/a/:'],
    ['/API/tree', '/API/tree'],
  ]
  for (const [path, route] of paths) it(`${path} is ${route}`, () => assert.equal(folded(path), route))
})

describe('RouteTable', () => {
  it('gives requests of one route one price, and other methods another', () => {
    const routes = new RouteTable()
    assert.equal(routes.of('GET', '/persons/1'), routes.of('GET', '/persons/2'))
    assert.notEqual(routes.of('GET', '/persons/1'), routes.of('POST', '/persons/1'))
  })

  it('is bounded whatever paths are asked for', () => {
    const routes = new RouteTable()
    const seen = new Set<unknown>()
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    for (const a of letters)
      for (const b of letters) for (const c of letters) seen.add(routes.of('GET', `/${a}${b}${c}`))
    assert.ok(seen.size <= 513, `${seen.size} routes`)
    assert.equal(routes.of('GET', '/' + 'y/'.repeat(5_000)), routes.of('GET', '/' + 'z/'.repeat(5_000)))
  })

  /** Four users' requests of a route, 40 ms each. */
  const learn = (routes: RouteTable, path: string) => {
    for (let n = 0; n < 4; n++) routes.of('GET', path).learn(`user-${n}`, 40_000)
  }

  it('says each price once that other tables are to know, by names that tell nobody the path', () => {
    const [routes, other] = [new RouteTable(), new RouteTable()]
    learn(routes, '/users/ada')
    routes.of('GET', '/users/grace').learn('user-1', 40_000) // one user moves nobody else's price
    const news = routes.news()
    assert.deepEqual([...news.values()], [50_000])
    for (const id of news.keys()) assert.match(id, /^[\w-]{16}$/)
    assert.equal(routes.news().size, 0)

    const before = other.of('GET', '/users/ada')
    assert.equal(other.hasUnknown, true)
    other.import(news)
    assert.equal(before.us(3_000_000), 50_000)
    assert.equal(other.hasUnknown, false)
    assert.equal(other.of('GET', '/users/grace').us(3_000_000), 3_000_000)
    assert.equal(other.news().size, 0, 'what it did not learn itself it does not say')
  })

  it('takes over prices of routes that are asked for later', () => {
    const [routes, other] = [new RouteTable(), new RouteTable()]
    learn(routes, '/tree')
    other.import(routes.news())
    assert.equal(other.of('GET', '/tree').us(3_000_000), 50_000)
  })

  it('leaves out what is no price', () => {
    const routes = new RouteTable()
    learn(routes, '/tree')
    const [id = ''] = routes.news().keys()
    for (const us of [NaN, Infinity, -1, 0.5, 1e12, '7' as unknown as number]) {
      const other = new RouteTable()
      other.import(new Map([[id, us]]))
      assert.equal(other.of('GET', '/tree').us(3_000_000), 3_000_000, String(us))
    }
  })
})

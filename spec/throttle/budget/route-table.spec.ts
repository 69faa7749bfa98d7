// Which paths are one route for prices, and that made-up paths push out none.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RouteTable, folded } from '../../../lib/throttle/budget/price'

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

  it('keeps the price of a route that was kept, whatever paths are asked for since', () => {
    const routes = new RouteTable()
    const search = routes.of('GET', '/search')
    routes.keep(search)
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    for (const a of letters) for (const b of letters) for (const c of letters) routes.of('GET', `/${a}${b}${c}`)
    assert.equal(routes.of('GET', '/search'), search)
    assert.equal(routes.of('GET', '/' + 'y/'.repeat(5_000)), routes.of('GET', '/' + 'z/'.repeat(5_000)))
  })

  it('forgets a route when so many others were kept since', () => {
    const routes = new RouteTable()
    const search = routes.of('GET', '/search')
    routes.keep(search)
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    for (const a of letters)
      for (const b of letters) for (const c of letters) routes.keep(routes.of('GET', `/${a}${b}${c}`))
    assert.notEqual(routes.of('GET', '/search'), search)
  })
})

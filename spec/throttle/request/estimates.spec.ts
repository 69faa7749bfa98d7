import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Estimates, folded, learn } from '../../../lib/throttle/request/estimates'

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

describe('Estimates', () => {
  it('gives requests of one route one estimate, and other methods another', () => {
    const estimates = new Estimates()
    assert.equal(estimates.of('GET', '/persons/1'), estimates.of('GET', '/persons/2'))
    assert.notEqual(estimates.of('GET', '/persons/1'), estimates.of('POST', '/persons/1'))
    assert.equal(estimates.of('GET', '/persons/1').us, undefined)
  })

  it('is the mean of few requests and follows the latest of many', () => {
    const estimate = new Estimates().of('GET', '/')
    learn(estimate, 100)
    assert.equal(estimate.us, 100)
    learn(estimate, 300)
    assert.equal(estimate.us, 200)
    for (let i = 0; i < 200; i++) learn(estimate, 1_000)
    assert.ok((estimate.us as number) > 990, String(estimate.us))
  })

  it('is bounded whatever paths are asked for', () => {
    const estimates = new Estimates()
    const seen = new Set<unknown>()
    const letters = 'abcdefghijklmnopqrstuvwxyz'
    for (const a of letters)
      for (const b of letters) for (const c of letters) seen.add(estimates.of('GET', `/${a}${b}${c}`))
    assert.ok(seen.size <= 513, `${seen.size} estimates`)
    assert.equal(estimates.of('GET', '/' + 'y/'.repeat(5_000)), estimates.of('GET', '/' + 'z/'.repeat(5_000)))
  })
})

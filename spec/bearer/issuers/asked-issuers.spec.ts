import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { IssuerOptions } from '../../../lib'
import { devIssuer, manualClock } from '../../../lib/testing'
import { until } from '../../support/until'
import { apiOf } from '../api'

describe('requireBearer({ issuers }) with a function', () => {
  const dev = devIssuer()
  const iss = 'https://login.globex.test'
  const token = (claims: object = {}) => dev.token('ada', { claims: { iss, aud: 'api', ...claims } })
  const options = { audience: 'api', key: dev.options.key }

  it('asks about an unknown issuer, keeps the answer for an hour, and asks again after reload(iss)', async () => {
    const clock = manualClock()
    const customers = new Map<string, IssuerOptions>()
    const asked: string[] = []
    const issuers = (name: string) => {
      asked.push(name)
      return Promise.resolve(customers.get(name))
    }
    const { statusOf, bearer } = await apiOf({ issuers, clock, warnings: false })
    assert.equal(await statusOf(token()), 401)
    customers.set(iss, options)
    const one = token({ exp: Math.floor(Date.now() / 1_000) + 90_000 })
    assert.deepEqual([await statusOf(one), await statusOf(one), await statusOf(token())], [200, 200, 200])
    assert.deepEqual(asked, [iss, iss])
    customers.clear()
    assert.equal(await statusOf(one), 200)
    await bearer.reload('https://other.test')
    assert.equal(await statusOf(one), 200)
    await bearer.reload(iss)
    assert.equal(await statusOf(one), 401) // also a token that was verified before
    customers.set(iss, options)
    assert.equal(await statusOf(one), 200)
    customers.clear()
    clock.advance(3_600_000)
    assert.equal(await statusOf(one), 401)
    customers.set(iss, options)
    assert.equal(await statusOf(one), 200)
    customers.clear()
    clock.setDate(clock.date() + 3_600_000) // the machine was suspended: only the date has gone on
    assert.equal(await statusOf(one), 401)
  })

  it('asks about a new customer while it is asked about made-up ones of another block', async () => {
    const asked: string[] = []
    const issuers = (name: string) => {
      asked.push(name)
      return name === iss ? options : new Promise<undefined>(() => undefined)
    }
    const { bearer } = await apiOf({ issuers, clock: manualClock(), warnings: false })
    for (let i = 0; i < 100; i++) {
      const madeUp = token({ iss: `https://made-up-${i}.test` })
      void bearer.check(madeUp, { ip: `198.51.100.${i}` }).catch(() => undefined)
    }
    await until(() => asked.length, 12) // a block has half of what is asked at once
    assert.equal((await bearer.check(token(), { ip: '203.0.113.9' })).sub, 'ada')
    assert.equal(asked.length, 13)
  })

  it('answers 503 where the function throws, or returns what is no trusted issuer with keys', async () => {
    const introspection = { endpoint: 'https://globex.test/introspect', clientAuth: 'none' } as const
    const wrong: (() => unknown)[] = [
      () => Promise.reject(new Error('down')),
      () => ({ ...options, issuer: 'https://initech.test' }),
      () => ({ audience: 'api', introspection }),
      () => ({ ...options, keyz: 1 }),
      () => 'yes',
    ]
    for (const issuers of wrong) {
      const { statusOf } = await apiOf({ issuers: issuers as never, warnings: false })
      assert.equal(await statusOf(token()), 503, String(issuers))
    }
    const { statusOf } = await apiOf({ issuers: () => options, warnings: false })
    assert.equal(await statusOf(token({ iss: `https://${'x'.repeat(2_100)}` })), 401)
  })
})

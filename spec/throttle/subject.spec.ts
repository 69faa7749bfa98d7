import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import express from 'express'
import { addressSubject, allowUnauthenticated, budgetOf, requireBearer, throttle } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { subjectId } from '../../lib/throttle/budget/subjects'
import { subjectKey } from '../../lib/throttle/subject'
import { serve } from '../support/serve'
import { until } from '../support/until'

describe('addressSubject()', () => {
  it("is the client's address, of IPv6 the /56, and warns as the default does where trust proxy is missing", async () => {
    const said: string[] = []
    const listener = ({ name, message }: Error & { code?: string }) => void said.push(`${name} ${message}`)
    process.on('warning', listener)
    const app = express()
    const { url } = await serve(app.use((req, res) => void res.send(addressSubject(req))))
    const ask = async (address: string) => (await fetch(url, { headers: { 'x-forwarded-for': address } })).text()
    assert.equal(await ask('203.0.113.9'), 'address:127.0.0.1')
    await until(() => said.some((text) => text.includes('trust proxy is not set')))
    process.off('warning', listener)

    app.set('trust proxy', 1)
    assert.equal(await ask('203.0.113.9'), 'address:203.0.113.9')
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:ff::2', '2001:db8:1:0:3:4:5:6']) {
      assert.equal(await ask(address), 'address:2001:db8:1:0::/56')
    }
  })
})

describe('who pays', () => {
  const dev = devIssuer()
  const other = devIssuer({ issuer: 'https://other.test' })

  async function asking(bearer: express.RequestHandler) {
    const forging: express.RequestHandler = (req, _res, next) => {
      // As a middleware of somebody else might.
      Object.assign(req, { auth: { ...req.auth, kind: 'user', userId: 'forged', issuer: 'forged' } })
      next()
    }
    const app = express().use(allowUnauthenticated({ paths: ['/'] }), bearer, forging, throttle())
    const { url } = await serve(app.use((req, res) => void res.send(budgetOf(req).subject)))
    return async (token?: string) => {
      const answer = await fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } })
      return answer.text()
    }
  }

  it('is the user over all sessions and apps, the app where nobody is signed in, else the address', async () => {
    const issuers = [dev.options, other.options]
    const ask = await asking(requireBearer({ issuers, optional: true }))
    assert.deepEqual(
      [
        await ask(dev.token('ada')),
        await ask(dev.token('ada', { clientId: 'another-app' })),
        await ask(other.token('ada')),
        await ask(dev.token('robot', { kind: 'client' })),
        await ask(dev.token('robot', { kind: 'unauthenticated' })),
        await ask(),
      ],
      [
        'user:23:https://dev-issuer.test:ada',
        'user:23:https://dev-issuer.test:ada',
        'user:18:https://other.test:ada',
        'client:23:https://dev-issuer.test:robot',
        'client:23:https://dev-issuer.test:robot',
        'address:127.0.0.1',
      ],
    )
  })

  it('is the address where no bearer is asked for, whoever has written to req.auth', async () => {
    const ask = await asking((_req, _res, next) => next())
    assert.equal(await ask(dev.token('ada')), 'address:127.0.0.1')
  })
})

describe('subjectId()', () => {
  it('names no two subjects alike, and gives each a phase within the window', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        assert.equal(subjectId(a, 60_000_000).id === subjectId(b, 60_000_000).id, a === b)
        const { phase } = subjectId(a, 60_000_000)
        assert.ok(Number.isInteger(phase) && phase >= 0 && phase < 60_000_000)
      }),
    )
  })

  it('tells lone surrogates apart, which UTF-8 does not', () => {
    assert.notEqual(subjectId('\ud800', 1_000).id, subjectId('\ud801', 1_000).id)
  })
})

describe('subjectKey()', () => {
  it('keeps short subjects and shortens long ones, and no two meet', () => {
    const long = (tail: string) => 'x'.repeat(10_000) + tail
    assert.equal(subjectKey('ada'), 'ada')
    assert.equal(subjectKey('x'.repeat(256)), 'x'.repeat(256))
    assert.ok(subjectKey(long('a')).length < 300)
    assert.notEqual(subjectKey(long('a')), subjectKey(long('b')))
    assert.notEqual(
      subjectKey(subjectKey(long('a'))),
      subjectKey(long('a')),
      'what stands for a long one is nobody’s name',
    )
  })
})

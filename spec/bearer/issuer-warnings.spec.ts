import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import express from 'express'
import { requireBearer } from '../../lib'
import { manualClock } from '../../lib/testing'
import { serveIssuer } from '../support/issuer'
import { freePort } from '../support/redis'
import { serve } from '../support/serve'
import { until } from '../support/until'
import { a, api } from './remote-issuer'

/** The warnings that this process emits from now on, without other tests' ones. */
function listening(t: TestContext) {
  const said: string[] = []
  const listener = ({ code, message }: Error & { code?: string }) => {
    if (code === 'TOLLGATE_ISSUER') said.push(message)
  }
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  /** Warnings are emitted in the next turn: one of ours comes after all that were before it. */
  const flushed = async () => {
    const end = `end ${said.length}`
    process.emitWarning(end, { code: 'TOLLGATE_ISSUER' })
    await until(() => said.includes(end))
    return said.splice(0).filter((message) => message !== end)
  }
  return flushed
}

describe('requireBearer() tells the operator', () => {
  const unreachable: readonly [string, Parameters<typeof failing>[0], RegExp][] = [
    ['an error', 503, /\/keys answered 503\. Requests get 503 meanwhile: see the log of the server there$/],
    ['no such page', 404, /\/keys answered 404\. Requests get 503 meanwhile: correct the address$/],
    [
      'a redirect',
      302,
      /\/keys answered 302\. Requests get 503 meanwhile: redirects are not followed: give the address/,
    ],
    ['no JSON', '<html>', /\/keys could not be fetched \(not JSON\)\. Requests get 503 meanwhile: check that this is/],
  ]
  for (const [title, answer, message] of unreachable) {
    it(`of an issuer that answers with ${title}, in ready() too`, async (t) => {
      const flushed = listening(t)
      const { issuer, token } = await failing(answer)
      const { ask, bearer } = await api({ issuer, jwksUri: `${issuer}/keys` })
      assert.equal((await ask(token())).status, 503)
      const [said = '', ...more] = await flushed()
      assert.ok(said.startsWith(`the keys of the issuer '${issuer}' cannot be had: ${issuer}/keys `), said)
      assert.match(said, message)
      assert.deepEqual(more, [])
      const why = said.slice(said.indexOf(`: ${issuer}`), said.indexOf('. Requests'))
      await assert.rejects(
        bearer.ready(),
        (err: Error) => err.message.includes(`the issuer ${issuer} `) && err.message.includes(why),
      )
    })
  }

  async function failing(answer: number | string) {
    const served = await serveIssuer(a)
    served.state.instead = (_req, res) => {
      if (typeof answer === 'number') res.writeHead(answer).end()
      else res.end(answer)
      return true
    }
    return served
  }

  it('of an issuer where nobody listens, once a cause and minute', async (t) => {
    const flushed = listening(t)
    const clock = manualClock()
    const issuer = `http://127.0.0.1:${await freePort()}`
    const { token } = await serveIssuer(a)
    const { ask, bearer } = await api({ issuer, clock })
    const metadata = `${issuer}/.well-known/openid-configuration could not be fetched (ECONNREFUSED)`
    for (const [afterMs, warnings] of [
      [0, 1],
      [59_999, 0],
      [1, 1],
    ] as const) {
      clock.advance(afterMs)
      for (let i = 0; i < 3; i++) assert.equal((await ask(token(a, { iss: issuer }))).status, 503)
      const said = await flushed()
      const all = `the keys of the issuer '${issuer}' cannot be had: ${metadata}. Requests get 503 meanwhile: start the server, or correct the port`
      assert.deepEqual(said, Array(warnings).fill(all), `after ${afterMs} ms`)
    }
    await assert.rejects(bearer.ready(), {
      message: `the keys of the issuer ${issuer} cannot be had: ${metadata}: start the server, or correct the port`,
    })
  })

  it('of metadata that name another issuer, and which', async (t) => {
    const flushed = listening(t)
    const { state, issuer, token } = await serveIssuer(a)
    state.metadata = { issuer: 'https://other.test' }
    const { ask } = await api({ issuer })
    assert.equal((await ask(token())).status, 503)
    assert.match(
      (await flushed()).join(),
      /name another issuer: 'https:\/\/other\.test'\. .*: set issuer to the name that its/,
    )
  })

  it('of tokens of another issuer, and for another audience', async (t) => {
    const flushed = listening(t)
    const { issuer, token } = await serveIssuer(a)
    const { ask } = await api({ issuer, audience: ['api', 'tree'] })
    assert.equal((await ask(token(a, { iss: 'https://other.test\r\n[forged] line' }))).status, 401)
    assert.deepEqual(await flushed(), [
      `a token of the issuer 'https://other.test\\r\\n[forged] line' was refused with 401, since [ '${issuer}' ] is trusted. ` +
        'If its tokens should be let in, set issuer to exactly what they say, with a slash at the end or without',
    ])
    assert.equal((await ask(token(a, { iss: `${issuer}/` }))).status, 401)
    assert.match(
      (await flushed()).join(),
      new RegExp(`^a token of the issuer '${issuer}/' .*with a slash at the end or without$`),
    )
    for (let i = 0; i < 3; i++) assert.equal((await ask(token(a, { aud: `other-${i}` }))).status, 401)
    assert.deepEqual(await flushed(), [
      `a token of the issuer '${issuer}' was refused with 401, since it is for the audience 'other-0' and this API is ` +
        "[ 'api', 'tree' ]. If it should be let in, set audience, or have the issuer set aud",
    ])
    assert.equal((await ask(token())).status, 200)
    assert.equal((await ask('no token')).status, 400)
    assert.equal((await ask(token(a, { exp: 1 }))).status, 401)
    assert.deepEqual(await flushed(), []) // clients' faults
  })

  it('of introspection that is refused, and of verify that throws', async (t) => {
    const flushed = listening(t)
    const { url: endpoint } = await serve((_req, res) => void res.writeHead(401).end())
    const base = { issuer: 'https://as.test', audience: 'api' }
    const asking = async (options: object) => {
      const { ask } = await api({ ...base, ...options })
      assert.equal((await ask('opaque-and-secret')).status, 503)
      return (await flushed()).join()
    }
    const introspection = { endpoint, clientId: 'api', clientSecret: 'hush' }
    assert.equal(
      await asking({ introspection }),
      `the issuer 'https://as.test' cannot be asked about tokens: ${endpoint} answered 401. Requests get 503 meanwhile: ` +
        'correct the client id and the secret that it is asked with',
    )
    const verify = (token: string) => {
      throw new RangeError(token)
    }
    assert.equal(
      await asking({ verify }),
      'the option verify threw RangeError. Requests get 503 meanwhile: err.cause of onDenied has it',
    )
  })

  it('of nothing where warnings are off', async (t) => {
    const flushed = listening(t)
    const { state, issuer, token } = await serveIssuer(a)
    const { ask } = await api({ issuer, warnings: false })
    assert.equal((await ask(token(a, { aud: 'other' }))).status, 401)
    assert.equal((await ask(token(a, { iss: 'https://other.test' }))).status, 401)
    state.down = true
    const late = requireBearer({ issuer, audience: 'api', warnings: false })
    const { url } = await serve(express().use(late))
    assert.equal((await fetch(url, { headers: { authorization: `Bearer ${token()}` } })).status, 503)
    assert.deepEqual(await flushed(), [])
  })
})

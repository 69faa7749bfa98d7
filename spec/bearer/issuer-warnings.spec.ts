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

  const remedies: readonly [code: string, remedy: string][] = [
    ['ENOTFOUND', 'correct the host name, or the DNS of this machine'],
    ['EAI_AGAIN', 'correct the host name, or the DNS of this machine'],
    ['CERT_HAS_EXPIRED', 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
    ['EPROTO', 'the server there does not speak TLS: correct the port'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'the server there does not speak TLS: correct the port'],
    ['ETIMEDOUT', 'check the address, and firewalls and proxies on the way'],
    ['UND_ERR_CONNECT_TIMEOUT', 'check the address, and firewalls and proxies on the way'],
    ['ECONNRESET', 'check that this is the right address'],
  ]
  it('what to do, by the code that the fetch failed with', async (t) => {
    const flushed = listening(t)
    const issuer = 'https://as.test'
    for (const [code, remedy] of remedies) {
      const reset = Object.assign(new Error('no word of it'), { code })
      const failing = () =>
        Promise.reject(new TypeError('fetch failed', { cause: new Error('inner', { cause: reset }) }))
      const { ask, bearer } = await api({ issuer, jwksUri: `${issuer}/keys`, fetch: failing })
      const why = `${issuer}/keys could not be fetched (${code})`
      await assert.rejects(bearer.ready(), {
        message: `the keys of the issuer ${issuer} cannot be had: ${why}: ${remedy}`,
      })
      assert.equal((await ask((await serveIssuer(a)).token(a, { iss: issuer }))).status, 503)
      assert.deepEqual(await flushed(), [
        `the keys of the issuer '${issuer}' cannot be had: ${why}. Requests get 503 meanwhile: ${remedy}`,
      ])
    }
  })

  it('in other words where there is no code', async () => {
    const issuer = 'https://as.test'
    const thrown: readonly [unknown, string][] = [
      [new Error('fetch failed', { cause: new Error('no answer within 5 s') }), 'no answer within 5 s'],
      ['text', 'no error was given'],
    ]
    for (const [reason, why] of thrown) {
      const failing = () => new Promise<never>(() => AbortSignal.abort(reason).throwIfAborted())
      const { bearer } = await api({ issuer, jwksUri: `${issuer}/keys`, fetch: failing })
      await assert.rejects(bearer.ready(), (err: Error) =>
        err.message.includes(`/keys could not be fetched (${why}): check`),
      )
    }
  })

  it('of an issuer that shows no key', async (t) => {
    const flushed = listening(t)
    const { state, issuer, token } = await serveIssuer(a)
    state.keys = []
    const { ask } = await api({ issuer })
    assert.equal((await ask(token())).status, 503)
    assert.deepEqual(await flushed(), [
      `the keys of the issuer '${issuer}' cannot be had: its JWK Set shows no key that can be used. ` +
        'Requests get 503 meanwhile: check that this is the right address',
    ])
  })

  it('what to do, by the status that the address answered with', async () => {
    for (const [status, remedy] of [
      [307, 'redirects are not followed: give the address that it leads to'],
      [400, 'correct the client id and the secret that it is asked with'],
      [403, 'correct the client id and the secret that it is asked with'],
      [405, 'check that this is the right address'],
      [429, 'see the log of the server there'],
      [502, 'see the log of the server there'],
    ] as const) {
      const { issuer } = await failing(status)
      const { bearer } = await api({ issuer, jwksUri: `${issuer}/keys` })
      const message = `the keys of the issuer ${issuer} cannot be had: ${issuer}/keys answered ${status}: ${remedy}`
      await assert.rejects(bearer.ready(), { message })
    }
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

  it('of each issuer, and of each cause, within a minute', async (t) => {
    const flushed = listening(t)
    const [one, other] = [await serveIssuer(a), await serveIssuer(a)]
    const clock = manualClock()
    const issuers = [one, other].map(({ issuer }) => ({ issuer, jwksUri: `${issuer}/keys` }))
    const { ask } = await api({ issuers, clock })
    const asking = async (token: string) => {
      for (let i = 0; i < 2; i++) await ask(token)
      return (await flushed()).map((message) => message.replace(/ (was|answered) (refused|\d+).*/, ' $2'))
    }
    const why = (status: number) => `the keys of the issuer '${one.issuer}' cannot be had: ${one.issuer}/keys ${status}`
    for (const [status, said] of [
      [503, [why(503)]],
      [404, [why(404)]],
      [503, []],
    ] as const) {
      one.state.instead = (_req, res) => (res.writeHead(status).end(), true)
      clock.advance(10_000) // it is asked again after a pause
      assert.deepEqual(await asking(one.token()), said)
    }
    one.state.instead = () => false
    clock.advance(10_000)
    for (const { issuer, token } of [one, other]) {
      assert.deepEqual(await asking(token(a, { aud: 'x' })), [`a token of the issuer '${issuer}' refused`])
      assert.deepEqual(await asking(token(a, { aud: 'y' })), [])
    }
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
    const thrower = () => {
      throw 'opaque-and-secret' as unknown as Error
    }
    assert.equal(
      await asking({ verify: thrower }),
      'the option verify threw string. Requests get 503 meanwhile: err.cause of onDenied has it',
    )
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

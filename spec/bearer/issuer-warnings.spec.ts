import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import { requireBearer } from '../../lib'
import { manualClock } from '../../lib/testing'
import { splitHelpLink, says } from '../support/help-link'
import { warned } from '../support/heard'
import { serveIssuer } from '../support/issuer'
import { freePort } from '../support/redis'
import { serve } from '../support/serve'
import { a, api, b } from './remote-issuer'

/** The warnings about issuers that this process has emitted since the last time, without their addresses. */
function listening() {
  const heard = warned({ after }, 'TOLLGATE_ISSUER')
  return async () => {
    await setImmediate()
    return heard.splice(0).map((message) => {
      const { text, code } = splitHelpLink(message)
      assert.equal(code, 'tollgate_issuer', message)
      return text
    })
  }
}

/** What to do about a failed fetch, by how it begins, and the codes, statuses and texts that it failed with. */
const REMEDIES: readonly (readonly [remedy: string, ...failures: (string | number)[]])[] = [
  ['correct the host name', 'ENOTFOUND', 'EAI_AGAIN'],
  ['its certificate has expired', 'CERT_HAS_EXPIRED'],
  ['its certificate is not valid yet', 'CERT_NOT_YET_VALID'],
  ['its certificate is for another host', 'ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'],
  ['its certificate is not accepted', 'CERT_REVOKED'],
  ['name the CA of its certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'CERT_UNTRUSTED'],
  ['name the CA of its certificate', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ['the server there does not speak TLS', 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER'],
  ['the server refuses the TLS handshake', 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE'],
  ['the server refuses the TLS handshake', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'],
  ['check the address, and firewalls and proxies', 'EHOSTUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT'],
  ['check that this is the right address', 'ECONNRESET', 'no answer at all', '<html>'],
  ['redirects are not followed', 302, 307],
  ['the server or a firewall refuses this machine', 401, 403],
  ['see the log of the server', 429, 502, 503],
  ['correct the address', 400, 404, 405],
]

function failing(failure: string | number): () => Promise<Response> {
  if (typeof failure === 'number') return () => Promise.resolve(new Response('', { status: failure }))
  if (failure === '<html>') return () => Promise.resolve(new Response(failure))
  const reset = /[a-z]/.test(failure)
    ? new Error(failure)
    : Object.assign(new Error('no word of it'), { code: failure })
  return () => Promise.reject(new TypeError('fetch failed', { cause: new Error('inner', { cause: reset }) }))
}

describe('requireBearer() tells the operator', () => {
  it('what to do, by what the fetch of keys failed with, in ready() too', async () => {
    const flushed = listening()
    const issuer = 'https://as.test'
    const token = (await serveIssuer(a)).token(a, { iss: issuer })
    for (const [remedy, ...failures] of REMEDIES) {
      for (const failure of failures) {
        const { ask, bearer } = await api({ issuer, jwksUri: `${issuer}/keys`, fetch: failing(failure) })
        const answered = failure === '<html>' ? 'answered with something that is not JSON' : `answered ${failure}`
        const isAnswer = typeof failure === 'number' || failure === '<html>'
        const why = `${issuer}/keys ${isAnswer ? answered : `could not be fetched (${failure})`}`
        let whole = ''
        await assert.rejects(bearer.ready(), (err: Error) => {
          const begins = `the keys of the issuer ${issuer} cannot be loaded: ${why}: `
          assert.ok(err.message.startsWith(begins + remedy), err.message)
          whole = splitHelpLink(err.message).text.slice(begins.length)
          return true
        })
        assert.equal((await ask(token)).status, 503)
        assert.deepEqual(await flushed(), [
          `the keys of the issuer '${issuer}' cannot be loaded: ${why}. Requests get 503 meanwhile: ${whole}`,
        ])
      }
    }
  })

  it('of an issuer where nobody listens, once a cause and minute', async () => {
    const flushed = listening()
    const clock = manualClock()
    const issuer = `http://127.0.0.1:${await freePort()}`
    const { token } = await serveIssuer(a)
    const { ask, bearer } = await api({ issuer, clock })
    const metadata = `${issuer}/.well-known/openid-configuration could not be fetched (ECONNREFUSED)`
    const remedy =
      'start the server, or correct the port; in a container, localhost is the container itself: give jwksUri, the ' +
      'address of the keys inside its network'
    for (const [afterMs, warnings] of [
      [0, 1],
      [59_999, 0],
      [1, 1],
    ] as const) {
      clock.advance(afterMs)
      for (let i = 0; i < 3; i++) assert.equal((await ask(token(a, { iss: issuer }))).status, 503)
      const said = await flushed()
      const all = `the keys of the issuer '${issuer}' cannot be loaded: ${metadata}. Requests get 503 meanwhile: ${remedy}`
      assert.deepEqual(said, Array(warnings).fill(all), `after ${afterMs} ms`)
    }
    await assert.rejects(
      bearer.ready(),
      says(`the keys of the issuer ${issuer} cannot be loaded: ${metadata}: ${remedy}`),
    )
  })

  it('that nothing is known where what is thrown is no error', async () => {
    const issuer = 'https://as.test'
    const fetch = () => new Promise<never>(() => AbortSignal.abort('text').throwIfAborted())
    const { bearer } = await api({ issuer, jwksUri: `${issuer}/keys`, fetch })
    await assert.rejects(bearer.ready(), /\/keys could not be fetched \(no error was given\): check/)
  })

  it('of metadata that name another issuer, and which', async () => {
    const flushed = listening()
    const { state, issuer, token } = await serveIssuer(a)
    state.metadata = { issuer: 'https://other.test' }
    const { ask } = await api({ issuer })
    assert.equal((await ask(token())).status, 503)
    assert.match(
      (await flushed()).join(),
      /names another issuer: 'https:\/\/other\.test'; .* write \{ issuer: 'https:\/\/other\.test', jwksUri: 'http:\/\/127[^']*\/keys' \}/,
    )
  })

  it('of tokens of another issuer, and for another audience', async () => {
    const flushed = listening()
    const { issuer, token } = await serveIssuer(a)
    const { ask } = await api({ issuer, audience: ['api', 'tree'] })
    assert.equal((await ask(token(a, { iss: 'https://other.test\r\n[forged] line' }))).status, 401)
    assert.deepEqual(await flushed(), [
      `a token of the issuer 'https://other.test\\r\\n[forged] line' was refused with 401, since [ '${issuer}' ] is trusted. ` +
        "If its tokens should be let in: write issuer: 'https://other.test\\r\\n[forged] line'",
    ])
    assert.equal((await ask(token(a, { iss: `${issuer}/` }))).status, 401)
    assert.match(
      (await flushed()).join(),
      new RegExp(`they differ by the slash at the end; write issuer: '${issuer}/'$`),
    )
    const inner = await api({ issuer: `${issuer}/realms/acme`, audience: 'api' })
    const outer = 'https://sso.test/realms/acme' // the same, under the name that browsers know
    assert.equal((await inner.ask(token(a, { iss: outer }))).status, 401)
    assert.ok(
      (await flushed())
        .join()
        .endsWith(`write issuer: '${outer}', and jwksUri if this machine reaches its keys at ${issuer}`),
    )
    for (let i = 0; i < 3; i++) assert.equal((await ask(token(a, { aud: `other-${i}` }))).status, 401)
    assert.deepEqual(await flushed(), [
      `a token of the issuer '${issuer}' was refused with 401, since it is for the audience 'other-0' and this API is ` +
        "[ 'api', 'tree' ]. If it should be let in: write audience: 'other-0'",
    ])
    assert.equal((await ask(token())).status, 200)
    assert.equal((await ask('no token')).status, 400)
    assert.equal((await ask(token(a, { exp: 1 }))).status, 401)
    assert.deepEqual(await flushed(), []) // clients' faults
  })

  it('of a token whose iss is no name: no option could be written with it', async () => {
    const flushed = listening()
    const { issuer, token } = await serveIssuer(a)
    for (const [iss, written] of [
      [undefined, 'undefined'],
      ['', "''"],
      [7, '7'],
      [null, 'undefined'], // a claim that is null counts as absent
    ] as const) {
      const { ask } = await api({ issuer, audience: 'api' })
      assert.equal((await ask(token(a, { iss }))).status, 401)
      assert.deepEqual(await flushed(), [
        `a token whose iss is ${written} was refused with 401, since [ '${issuer}' ] is trusted. If it should be let in: ` +
          'have the issuer set iss to its name, or check such tokens in the option verify',
      ])
    }
  })

  it('of a tenant that is not listed, or that the function does not accept', async () => {
    const flushed = listening()
    const { issuer, token } = await serveIssuer(a)
    for (const tenants of [['acme'], () => false]) {
      const { ask } = await api({ issuer: `${issuer}/{tid}/v2`, tenants })
      assert.equal((await ask(token(a, { iss: `${issuer}/initech/v2` }))).status, 401)
      assert.match((await flushed()).join(), /\/\{tid\}\/v2' \] is trusted.*: add 'initech' to tenants$/)
    }
    const { ask } = await api({ issuer: `${issuer}/{tenant}`, tenants: ['acme'], jwksUri: `${issuer}/keys` })
    assert.equal((await ask(token(a, { iss: `${issuer}/acme`, tenant: 'other' }))).status, 401)
    assert.match(
      (await flushed()).join(),
      /its claim 'tenant' is 'other', and its iss is of 'acme'.* put a name that is no claim into the braces/,
    )
  })

  it('of an audience that lacks a slash, or has none at all, and what to write', async () => {
    const flushed = listening()
    const { issuer, token } = await serveIssuer(a)
    for (const [aud, remedy] of [
      [
        'https://api.test/',
        "they differ by the slash at the end; write audience: ['https://api.test', 'https://api.test/']",
      ],
      [['x', 'y'], "write audience: [ 'x', 'y' ]"],
      ...[undefined, '', 7, ['x', null]].map(
        (aud) => [aud, 'have the issuer set aud, or name what is checked instead: audience: { checkedBy: … }'] as const,
      ),
    ] as const) {
      const { ask } = await api({ issuer, audience: ['https://api.test'] })
      assert.equal((await ask(token(a, { aud }))).status, 401)
      const [message = ''] = await flushed()
      assert.ok(message.endsWith(`If it should be let in: ${remedy}`), message)
    }
  })

  it('of a claim for which a genuine token was refused, with its value and the option', async () => {
    const flushed = listening()
    const { issuer, token } = await serveIssuer(a)
    const key = a.jwk
    const begin = `a token of the issuer '${issuer}' was refused with 401, since`
    const add = (option: string) =>
      `is accepted. If it should be let in, add it to ${option}, or to the preset's option`
    for (const [options, claims, expected] of [
      [
        { requiredClaims: { tier: 'gold' } },
        { tier: 'tin' },
        `its claim tier is 'tin', and [ 'gold' ] ${add('requiredClaims')}`,
      ],
      [{ clients: ['web'] }, { azp: 'app' }, `its claim azp is 'app', and [ 'web' ] ${add('clients')}`],
      [{ clients: ['web'] }, {}, `its claim client_id is undefined, and [ 'web' ] ${add('clients')}`],
      [
        { requiredClaims: ['tid'] },
        {},
        'it has no claim tid. If it should be let in, have the issuer add the claim, or take it out of requiredClaims',
      ],
    ] as const) {
      const { ask } = await api({ issuer, key, audience: 'api', ...options })
      for (let i = 0; i < 2; i++) assert.equal((await ask(token(a, { client_id: undefined, ...claims }))).status, 401)
      assert.deepEqual(await flushed(), [`${begin} ${expected}`])
    }
    const { ask } = await api({ issuer, key, audience: 'api' })
    assert.equal((await ask(token(a, { client_id: 7 }))).status, 401) // the issuer's fault: no option could take it
    assert.deepEqual(await flushed(), [])
  })

  it('of an audience that no API should take, and what to do instead', async () => {
    const flushed = listening()
    const { issuer, token } = await serveIssuer(a)
    const realm = `${issuer}/realms/acme`
    for (const [iss, aud, remedy] of [
      [realm, 'account', 'Add an audience mapper, so that aud names this API'],
      [realm, ['broker', 'account'], 'Add an audience mapper, so that aud names this API'],
      [issuer, 'https://graph.microsoft.com', 'Let the client ask for a scope of this API: api://<application id>/…'],
      [issuer, 'account', "If it should be let in: write audience: 'account'"],
    ] as const) {
      const { ask } = await api({ issuer: iss, audience: 'api', jwksUri: `${issuer}/keys` })
      assert.equal((await ask(token(a, { iss, aud }))).status, 401)
      const [message = ''] = await flushed()
      assert.ok(message.endsWith(remedy), message)
    }
  })

  it('of each issuer, and of each cause, within a minute', async () => {
    const flushed = listening()
    const [one, other] = [await serveIssuer(a), await serveIssuer(a)]
    const clock = manualClock()
    const issuers = [one, other].map(({ issuer }) => ({ issuer, jwksUri: `${issuer}/keys` }))
    const { ask } = await api({ issuers, clock })
    const asking = async (token: string) => {
      for (let i = 0; i < 2; i++) await ask(token)
      return (await flushed()).map((message) => message.replace(/ (was|answered) (refused|\d+).*/, ' $2'))
    }
    const why = (status: number) =>
      `the keys of the issuer '${one.issuer}' cannot be loaded: ${one.issuer}/keys ${status}`
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

  it('of a key that its issuer shows and that cannot be used', async () => {
    const flushed = listening()
    const { state, issuer, token } = await serveIssuer(a)
    state.keys = [{ ...a.jwk, use: 'enc' }, b.jwk]
    const { ask } = await api({ issuer })
    assert.equal((await ask(token())).status, 401)
    assert.deepEqual(await flushed(), [
      `a token of the issuer '${issuer}' was refused with 401: the key 'a' is left out: its use is not sig. If its ` +
        'tokens should be let in, have the issuer sign with another key, or set algorithms',
    ])
    assert.equal((await ask(token({ ...a, kid: 'forged' }))).status, 401)
    assert.deepEqual(await flushed(), [])
  })

  it('what to do about introspection, by the status that it answered with', async () => {
    const flushed = listening()
    const introspection = { endpoint: 'https://as.test/introspect', clientId: 'api', clientSecret: 'hush' }
    for (const [remedy, ...statuses] of [
      ['correct the client id and the secret that it is asked with, or set introspection.clientAuth', 400, 401, 403],
      ['correct the address', 404, 405],
      ['redirects are not followed', 302],
      ['see the log of the server', 500],
    ] as const) {
      for (const status of statuses) {
        const { ask } = await api({ issuer: 'https://as.test', introspection, fetch: failing(status) })
        assert.equal((await ask('opaque')).status, 503)
        assert.match(
          (await flushed()).join(),
          new RegExp(
            `^the issuer 'https://as\\.test' cannot be asked about tokens: .*answered ${status}\\. Requests get 503 meanwhile: ${remedy}`,
          ),
        )
      }
    }
  })

  it('of verify that throws', async () => {
    const flushed = listening()
    const verify = (token: string) => {
      throw new RangeError(token)
    }
    const thrower = () => {
      throw 'opaque-and-secret' as unknown as Error
    }
    const remedy = 'onDenied gets the error as err.cause; for an invalid token return undefined'
    for (const [option, what] of [
      [verify, 'RangeError'],
      [thrower, 'string'],
    ] as const) {
      const { ask } = await api({ issuer: 'https://as.test', verify: option })
      assert.equal((await ask('opaque-and-secret')).status, 503)
      assert.deepEqual(await flushed(), [`the option verify threw ${what}. Requests get 503 meanwhile. ${remedy}`])
    }
  })

  it('of nothing where warnings are off', async () => {
    const flushed = listening()
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

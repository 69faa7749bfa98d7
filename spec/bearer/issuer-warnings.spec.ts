import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import express from 'express'
import { requireBearer } from '../../lib'
import { auth0, cognito, okta } from '../../lib/providers'
import { manualClock } from '../../lib/testing'
import { parted, says } from '../support/addressed'
import { serveIssuer } from '../support/issuer'
import { freePort } from '../support/redis'
import { serve } from '../support/serve'
import { until } from '../support/until'
import { a, api, b } from './remote-issuer'

/** The warnings that this process emits from now on, without other tests' ones. */
function listening(t: TestContext) {
  const said: string[] = []
  const listener = ({ code, message }: Error & { code?: string }) => {
    if (code !== 'TOLLGATE_ISSUER') return
    const { text, code: address } = parted(message)
    assert.ok(address === 'tollgate_issuer' || text.startsWith('end '), message)
    said.push(text)
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
    [
      'no JSON',
      '<html>',
      /\/keys answered with something that is not JSON\. Requests get 503 meanwhile: check that this is/,
    ],
  ]
  for (const [title, answer, message] of unreachable) {
    it(`of an issuer that answers with ${title}, in ready() too`, async (t) => {
      const flushed = listening(t)
      const { issuer, token } = await failing(answer)
      const { ask, bearer } = await api({ issuer, jwksUri: `${issuer}/keys` })
      assert.equal((await ask(token())).status, 503)
      const [said = '', ...more] = await flushed()
      assert.ok(said.startsWith(`the keys of the issuer '${issuer}' cannot be loaded: ${issuer}/keys `), said)
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

  const CA = 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'
  const OTHER_HOST = 'its certificate is for another host: correct the address, or the certificate there'
  const TLS_REFUSED =
    'the server refuses the TLS handshake: give a fetch with a client certificate if it asks for one, or see its log'
  const remedies: readonly [code: string, remedy: string][] = [
    ['ENOTFOUND', 'correct the host name, or the DNS of this machine'],
    ['EAI_AGAIN', 'correct the host name, or the DNS of this machine'],
    ['CERT_HAS_EXPIRED', 'its certificate has expired: renew it there, or correct the clock of this machine'],
    [
      'CERT_NOT_YET_VALID',
      'its certificate is not valid yet: correct the clock of this machine, or the certificate there',
    ],
    ['ERR_TLS_CERT_ALTNAME_INVALID', OTHER_HOST],
    ['HOSTNAME_MISMATCH', OTHER_HOST],
    ['CERT_REVOKED', 'its certificate is not accepted: replace it there'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', CA],
    ['SELF_SIGNED_CERT_IN_CHAIN', CA],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', CA],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', CA],
    ['CERT_UNTRUSTED', CA],
    ['EPROTO', 'the server there does not speak TLS: correct the port'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'the server there does not speak TLS: correct the port'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', TLS_REFUSED],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', TLS_REFUSED],
    ['EHOSTUNREACH', 'check the address, and firewalls and proxies on the way'],
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
      await assert.rejects(bearer.ready(), says(`the keys of the issuer ${issuer} cannot be loaded: ${why}: ${remedy}`))
      assert.equal((await ask((await serveIssuer(a)).token(a, { iss: issuer }))).status, 503)
      assert.deepEqual(await flushed(), [
        `the keys of the issuer '${issuer}' cannot be loaded: ${why}. Requests get 503 meanwhile: ${remedy}`,
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
      `the keys of the issuer '${issuer}' cannot be loaded: its JWK Set has no key. Requests get 503 meanwhile: ` +
        'correct the address; an issuer that signs with a shared secret (HS256) needs the option secret',
    ])
  })

  const REFUSED =
    'the server or a firewall refuses this machine: allow its IP address, or give fetch, to go by a proxy or to send ' +
    'another User-Agent'
  it('what to do, by the status that the address answered with', async () => {
    for (const [status, remedy] of [
      [307, 'redirects are not followed: give the address that it leads to'],
      [400, 'correct the address'],
      [401, REFUSED],
      [403, REFUSED],
      [405, 'correct the address'],
      [429, 'see the log of the server there'],
      [502, 'see the log of the server there'],
    ] as const) {
      const { issuer } = await failing(status)
      const { bearer } = await api({ issuer, jwksUri: `${issuer}/keys` })
      const message = `the keys of the issuer ${issuer} cannot be loaded: ${issuer}/keys answered ${status}: ${remedy}`
      await assert.rejects(bearer.ready(), says(message))
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
      /names another issuer: 'https:\/\/other\.test'; .* write \{ issuer: 'https:\/\/other\.test', jwksUri: 'http:\/\/127[^']*\/keys' \}/,
    )
  })

  it('of tokens of another issuer, and for another audience', async (t) => {
    const flushed = listening(t)
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

  it('of a token whose iss is no name: no option could be written with it', async (t) => {
    const flushed = listening(t)
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

  it('of a tenant that is not listed, or that the function does not accept', async (t) => {
    const flushed = listening(t)
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

  it('of an audience that lacks a slash, or has none at all, and what to write', async (t) => {
    const flushed = listening(t)
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

  it('of a claim for which a genuine token was refused, with its value and the option', async (t) => {
    const flushed = listening(t)
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

  it('of a claim that a preset checks', async (t) => {
    const flushed = listening(t)
    const { token } = await serveIssuer(a)
    const more = { key: a.jwk }
    const [domain, audience] = ['acme.test', 'api']
    for (const [issuer, claims, expected] of [
      [
        auth0({ domain, audience, organization: 'org_acme', more }),
        { iss: `https://${domain}/`, org_id: 'org_x' },
        "its claim org_id is 'org_x', and",
      ],
      [
        cognito({ userPoolId: 'eu_1', clients: ['web'], more }),
        { iss: 'https://cognito-idp.eu.amazonaws.com/eu_1', token_use: 'access', client_id: 'cli' },
        "its claim client_id is 'cli', and",
      ],
      [okta({ domain, audience, more }), { iss: `https://${domain}/oauth2/default` }, 'it has no claim cid. '],
    ] as const) {
      const { ask } = await api(issuer)
      assert.equal((await ask(token(a, claims))).status, 401)
      assert.ok((await flushed()).join().includes(`since ${expected}`), expected)
    }
  })

  it('of an audience that no API should take, and what to do instead', async (t) => {
    const flushed = listening(t)
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

  it('of a key that its issuer shows and that cannot be used', async (t) => {
    const flushed = listening(t)
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

  it('what to do about introspection, by the status that it answered with', async (t) => {
    const flushed = listening(t)
    const client = 'correct the client id and the secret that it is asked with, or set introspection.clientAuth'
    for (const [status, remedy] of [
      [400, client],
      [401, client],
      [403, client],
      [404, 'correct the address'],
      [405, 'correct the address'],
      [302, 'redirects are not followed: give the address that it leads to'],
      [500, 'see the log of the server there'],
    ] as const) {
      const { url: endpoint } = await serve((_req, res) => void res.writeHead(status).end())
      const introspection = { endpoint, clientId: 'api', clientSecret: 'hush' }
      const { ask } = await api({ issuer: 'https://as.test', introspection })
      assert.equal((await ask('opaque')).status, 503)
      assert.match((await flushed()).join(), new RegExp(`answered ${status}\\. Requests get 503 meanwhile: ${remedy}$`))
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
        'correct the client id and the secret that it is asked with, or set introspection.clientAuth',
    )
    const verify = (token: string) => {
      throw new RangeError(token)
    }
    const thrower = () => {
      throw 'opaque-and-secret' as unknown as Error
    }
    assert.equal(
      await asking({ verify: thrower }),
      'the option verify threw string. Requests get 503 meanwhile. onDenied gets the error as err.cause; for an invalid token return undefined',
    )
    assert.equal(
      await asking({ verify }),
      'the option verify threw RangeError. Requests get 503 meanwhile. onDenied gets the error as err.cause; for an invalid token return undefined',
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

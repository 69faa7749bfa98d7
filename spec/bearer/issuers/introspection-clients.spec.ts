import assert from 'node:assert/strict'
import { type IncomingHttpHeaders } from 'node:http'
import { type Socket, connect } from 'node:net'
import { describe, it } from 'node:test'
import express from 'express'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { type DenialError, type IntrospectionOptions, requireBearer } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { generateKeys } from '../../support/generate-keys'
import { serve } from '../../support/serve'
import { assertIs, atMost, until } from '../../support/until'

const issuer = 'https://as.test'
const audience = 'api'

/** An introspection endpoint that takes down how it was asked. */
async function endpointOf() {
  const asked: { headers: IncomingHttpHeaders; form: Record<string, string> }[] = []
  const app = express().use(express.urlencoded({ extended: false }), (req, res) => {
    asked.push({ headers: req.headers, form: { ...(req.body as Record<string, string>) } })
    res.json({ active: true, sub: 'ada', aud: audience })
  })
  const { url: endpoint } = await serve(app)
  const ask = async (credentials: Omit<IntrospectionOptions, 'endpoint'>, token = 'opaque') => {
    const { check } = requireBearer({ issuer, audience, introspection: { endpoint, ...credentials } })
    assert.equal((await check(token)).sub, 'ada')
    return asked.at(-1) as (typeof asked)[0]
  }
  return { asked, ask, endpoint }
}

describe('requireBearer({ introspection }) authenticates', () => {
  it('by private_key_jwt, with another assertion for each call (RFC 7523 §3)', async () => {
    const { ask } = await endpointOf()
    for (const [kind, alg] of [
      ['rsa', 'RS256'],
      ['ec', 'ES256'],
      ['ed25519', 'EdDSA'],
    ] as const) {
      const { publicKey, privateKey } = generateKeys(kind)
      const jwks = createLocalJWKSet({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg }] })
      const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
      const ids = new Set<unknown>()
      for (const given of [privateKey, pem, { ...privateKey.export({ format: 'jwk' }), kid: 'k' }]) {
        const { form, headers } = await ask({ clientId: 'tree-api', privateKey: given })
        assert.deepEqual([form.client_id, headers.authorization, form.token], ['tree-api', undefined, 'opaque'])
        assert.equal(form.client_assertion_type, 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
        const options = { issuer: 'tree-api', subject: 'tree-api', audience: issuer, maxTokenAge: 60 }
        const { payload, protectedHeader } = await jwtVerify(form.client_assertion ?? '', jwks, options)
        ids.add(payload.jti)
        assertIs((payload.exp ?? 0) - (payload.iat ?? 0), atMost(60))
        assert.deepEqual(
          [protectedHeader.alg, protectedHeader.kid],
          [alg, typeof given === 'object' && 'kid' in given ? 'k' : undefined],
        )
      }
      assert.equal(ids.size, 3)
    }
  })

  it('by id and secret in Authorization or in the body, form-encoded both (RFC 6749 §2.3.1)', async () => {
    const { ask } = await endpointOf()
    const [id, secret] = ['api:1 ü', 's+c/r%t&=é']
    for (const clientAuth of [undefined, 'basic', 'post'] as const) {
      const { headers, form } = await ask({ clientId: id, clientSecret: secret, clientAuth })
      const posted = [form.client_id, form.client_secret]
      const basic = headers.authorization?.replace(/^Basic /, '')
      const parts = basic === undefined ? [] : Buffer.from(basic, 'base64').toString().split(':')
      const said = parts.map((part) => new URLSearchParams(`x=${part}`).get('x'))
      assert.deepEqual(clientAuth === 'post' ? posted : said, [id, secret], clientAuth)
      assert.deepEqual(clientAuth === 'post' ? said : posted, clientAuth === 'post' ? [] : [undefined, undefined])
      assert.equal(form.token, 'opaque')
    }
  })

  it('by an assertion or an access token of the app, asked for each call', async () => {
    const { ask } = await endpointOf()
    let calls = 0
    const { form } = await ask({ clientId: 'tree-api', clientAssertion: () => Promise.resolve(`A${++calls}`) })
    assert.deepEqual([form.client_id, form.client_assertion], ['tree-api', 'A1'])
    const { headers } = await ask({ token: () => `T${++calls}` })
    assert.equal(headers.authorization, 'Bearer T2')
  })

  it('by its id alone, or not at all, where that was said', async () => {
    const { ask } = await endpointOf()
    const { form, headers } = await ask({ clientId: 'tree-api', clientAuth: 'none' })
    assert.deepEqual(form, { client_id: 'tree-api', token: 'opaque', token_type_hint: 'access_token' })
    assert.equal(headers.authorization, undefined)
    assert.deepEqual((await ask({ clientAuth: 'none' })).form, { token: 'opaque', token_type_hint: 'access_token' })
  })

  it('and says 503 where the app’s function fails or returns no token, with a message that has no secret', async () => {
    const { endpoint, asked } = await endpointOf()
    const hasty = { ...manualClock(), after: (_ms: number, run: () => void) => (run(), () => undefined) }
    for (const [token, message, clock] of [
      [() => Promise.reject(new RangeError('s3cret')), 'failed with RangeError'],
      [() => undefined, 'returned a value of the type undefined'],
      [() => 's3cret\r\nx', 'returned a text that is no token'],
      [() => '', 'returned a text that is no token'],
      [() => new Promise(() => undefined), 'failed with TimeoutError', hasty],
    ] as const) {
      for (const name of ['token', 'clientAssertion']) {
        const introspection = { endpoint, [name]: token } as IntrospectionOptions
        const { check } = requireBearer({ issuer, audience, introspection, warnings: false, clock })
        await assert.rejects(check('opaque'), (err: DenialError) => {
          assert.deepEqual([err.status, err.reason], [503, 'introspection_unavailable'])
          assert.equal((err.cause as Error).message, `the option introspection.${name} ${message}`)
          return true
        })
      }
    }
    assert.equal(asked.length, 0) // no request went out without credentials
  })
})

describe('requireBearer({ introspection }) under a flood of made-up tokens', () => {
  /** An endpoint that answers made-up tokens when it is told to, and an API whose clients pipeline. */
  async function flooded() {
    const state = { open: 0, most: 0, asked: 0, held: [] as (() => void)[] }
    const endpoint = await serve((req, res) => {
      state.asked++
      state.most = Math.max(state.most, ++state.open)
      let body = ''
      req.on('data', (chunk: Buffer) => (body += chunk.toString()))
      req.on('end', () => {
        const isGood = body.startsWith('token=good')
        const answer = () => (
          state.open--,
          res.end(JSON.stringify(isGood ? { active: true, sub: 'ada', aud: audience } : { active: false }))
        )
        if (isGood) answer()
        else state.held.push(answer)
      })
    })
    const clock = manualClock()
    const introspection = { endpoint: endpoint.url, clientAuth: 'none', maxCalls: 24 } as const
    const app = express().set('trust proxy', 1)
    app.use(requireBearer({ issuer, audience, introspection, clock, warnings: false }), (_req, res) => void res.end())
    const api = await serve(app)
    const sockets: Socket[] = []
    /** Requests of a connection, all at once. */
    const pipeline = (count: number, name: string, address: string) => {
      const socket = connect(api.port, '127.0.0.1').on('error', () => undefined)
      sockets.push(socket)
      let text = ''
      socket.on('data', (data) => (text += data.toString()))
      for (let i = 0; i < count; i++)
        socket.write(
          `GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nAuthorization: Bearer ${name}-${i}\r\n\r\n`,
        )
      return { answers: () => [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status), text: () => text }
    }
    const ask = (token: string, address: string) =>
      fetch(api.url, { headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address } })
    const end = () => {
      for (const socket of sockets) socket.destroy()
      for (const answer of state.held.splice(0)) answer()
    }
    return { state, clock, ask, pipeline, end }
  }

  it('asks about maxCalls at once, half of one block on any number of connections, and answers others meanwhile', async () => {
    const { state, ask, pipeline, end } = await flooded()
    const floods = Array.from({ length: 48 }, (_, i) => pipeline(10, `made-up-${i}`, `198.51.100.${i % 8}`))
    await until(() => state.asked, 12)
    for (let i = 0; i < 5; i++) assert.equal((await ask(`good-${i}`, `203.0.113.${i}`)).status, 200)
    const others = ['192.0.2.1', '2001:db8:1::1', '2001:db9:1::1', '192.1.2.1'].map((address, i) =>
      pipeline(10, `other-${i}`, address),
    )
    await until(() => state.held.length, 24)
    assert.equal(state.most, 24)
    state.held.shift()?.()
    await until(() => floods.some(({ answers }) => answers().length >= 1))
    assert.ok(others.every(({ answers }) => answers().length === 0)) // each still has a call of its own
    assert.equal((await ask('good-again', '203.0.113.9')).status, 200)
    end()
  })

  it('lets those that wait in as others end, and refuses them after 5 s with Retry-After', async () => {
    const { state, clock, pipeline, end } = await flooded()
    const clients = Array.from({ length: 28 }, (_, i) => pipeline(1, `client-${i}`, `198.${i}.100.1`))
    await until(() => state.held.length, 24)
    state.held.shift()?.()
    await until(() => state.held.length, 24) // the first of those that wait
    clock.advance(5_000)
    const answered = () => clients.flatMap(({ answers }) => answers())
    await until(() => answered().length >= 4)
    assert.ok(answered().filter((status) => status === '503').length >= 3)
    assert.ok(clients.some(({ text }) => /^Retry-After: 1\r$/m.test(text())))
    await until(() => state.asked, 26) // the last is the probe
    end()
  })
})

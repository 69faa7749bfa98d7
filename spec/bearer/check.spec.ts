import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it } from 'node:test'
import express from 'express'
import {
  type BearerMessage,
  type BearerOptions,
  type DenialError,
  UnauthorizedError,
  allowUnauthenticated,
  processingTime,
  requireBearer,
  requireScope,
  throttle,
} from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'

const dev = devIssuer()
const checking = (options: Partial<BearerOptions> = {}) =>
  requireBearer({ ...dev.options, warnings: false, ...options })
const why = (err: DenialError) => [err.status, err.reason]

describe('bearer.check()', () => {
  it('returns the session of a token, with or without its scheme before it', async () => {
    const { check } = checking({ scope: 'read' })
    const token = dev.token('ada', { scope: 'read' })
    for (const given of [token, `Bearer ${token}`, `bearer  ${token}`]) {
      const session = await check(given)
      assert.deepEqual([session.kind, session.sub, session.scope], ['user', 'ada', ['read']])
    }
    assert.equal(await check(token), await check(token)) // the same as a request of the token has
  })

  it('refuses with what a response needs', async () => {
    const { check } = checking({ scope: 'read', realm: 'tree' })
    await assert.rejects(check(dev.attack('expired')), (err: unknown) => {
      assert.ok(err instanceof UnauthorizedError)
      assert.deepEqual([err.status, err.code, err.reason], [401, 'invalid_token', 'expired'])
      assert.match(
        err.headers['WWW-Authenticate'] ?? '',
        /^Bearer realm="tree", error="invalid_token", error_description="[^"]*expired", scope="read"$/,
      )
      return true
    })
    const reasons = async (token: unknown, options: Partial<BearerOptions> = { scope: 'read' }) =>
      checking(options)
        .check(token)
        .then(() => 'let in', why)
    for (const none of [undefined, null, '']) {
      assert.deepEqual(await reasons(none), [401, 'no_token'])
      assert.deepEqual(await reasons(none, { optional: true }), [401, 'no_token'])
    }
    for (const wrong of [7, {}, ['x'], 'a b', 'Bearer a b'])
      assert.deepEqual(await reasons(wrong), [400, 'malformed_credentials'])
    assert.deepEqual(await reasons(dev.token('ada')), [403, 'scope'])
    assert.deepEqual(await reasons(dev.token('ada'), { dpop: { required: true } }), [401, 'dpop_required'])
    await assert.rejects(checking({ dpop: { required: true } }).check('x'), ({ headers }: DenialError) => {
      return /^DPoP error="invalid_token", /.test(headers['WWW-Authenticate'] ?? '')
    })
    assert.deepEqual(await reasons('x'.repeat(300), { maxTokenLength: 256 }), [401, 'malformed_token'])
    const revocation = { state: () => ({ unavailable: new Error('away') }) }
    assert.deepEqual(await reasons(dev.token('ada'), { revocation }), [503, 'revocation_unavailable'])
  })

  it('wants the resource among the audiences, beside the audience of the options', async () => {
    const { check } = checking({ audience: ['https://api.test', 'https://api.test/mcp'] })
    const ask = (aud: unknown, resource?: string) =>
      check(dev.token('ada', { claims: { aud } }), { resource }).then(() => 'let in', why)
    const mcp = 'https://api.test/mcp'
    assert.equal(await ask('https://api.test'), 'let in')
    assert.equal(await ask(['https://api.test', mcp], mcp), 'let in')
    assert.equal(await ask(mcp, `${mcp}/`), 'let in') // a slash at the end makes no difference
    assert.deepEqual(await ask('https://api.test', mcp), [401, 'audience'])
    assert.deepEqual(await ask(`${mcp}/x`, `${mcp}/x`), [401, 'audience'])
    await assert.rejects(check(dev.token('ada'), { resource: 7 as never }), /resource must be a string/)
    await assert.rejects(check(dev.token('ada'), { audience: 'x' } as never), /check\(\) has no option "audience"/)
  })

  it('rejects with what a function of the app threw', async () => {
    const session = () => Promise.resolve(undefined) as never
    await assert.rejects(checking({ session }).check(dev.token('ada')), /session returned a promise/)
  })

  it('rejects with an error, whatever a revocation source throws or answers', async () => {
    const thrown = () => {
      throw undefined // eslint-disable-line @typescript-eslint/only-throw-error -- what an app may do
    }
    await assert.rejects(
      checking({ revocation: { state: thrown } }).check(dev.token('ada')),
      /^Error: thrown: undefined/,
    )
    for (const answer of [undefined, 'ok', true]) {
      const revocation = { state: () => answer } as never
      await assert.rejects(checking({ revocation }).check(dev.token('ada')), { reason: 'revocation_unavailable' })
    }
  })

  it('publishes its results, without a request', async () => {
    const events: unknown[] = []
    const listener = (event: unknown) => {
      const { req, reason, session } = event as BearerMessage
      events.push([req, reason, session?.sub])
    }
    subscribe('express-tollgate:bearer', listener)
    const { check } = checking()
    await check(dev.token('ada'))
    await assert.rejects(check('x'))
    unsubscribe('express-tollgate:bearer', listener)
    assert.deepEqual(events, [
      [undefined, undefined, 'ada'],
      [undefined, 'malformed_token', undefined],
    ])
  })
})

describe('the bearer check in the dialect standard', () => {
  /** What a response has of its own, and which field it is sent with. */
  async function responding(dialect: string, ...handlers: express.RequestHandler[]) {
    const seen: unknown[][] = []
    const look = (res: express.Response) =>
      seen.push([
        ...Reflect.ownKeys(res),
        ...res.eventNames(),
        ...Reflect.ownKeys(Object.getPrototypeOf(res) as object),
      ])
    const app = express().set('tollgate dialect', dialect)
    app.use((_req, res, next) => (look(res), next()))
    app.use(...handlers, (_req, res) => (look(res), res.end()))
    const { url } = await serve(app)
    const headers = { authorization: `Bearer ${dev.token('ada', { scope: 'read' })}` }
    const answers = [await fetch(url, { headers }), await fetch(url)]
    const hooked = seen[1]?.filter((one) => !seen[0]?.includes(one))
    return { hooked, times: answers.map(({ headers }) => headers.has('x-processing-time')) }
  }
  const check = [allowUnauthenticated({ paths: ['/'] }), checking(), requireScope('read')] as express.RequestHandler[]

  it('neither times nor hooks the response', async () => {
    assert.deepEqual(await responding('standard', ...check), { hooked: [], times: [false, false] })
  })

  it('leaves the field to throttle() and processingTime(), and in the service’s own dialect to itself', async () => {
    const throttled = throttle() as express.RequestHandler
    assert.deepEqual((await responding('standard', ...check, throttled)).times, [true, false])
    assert.deepEqual((await responding('standard', processingTime() as express.RequestHandler, ...check)).times, [
      true,
      true,
    ])
    assert.deepEqual((await responding('familysearch', ...check)).times, [true, true])
  })
})

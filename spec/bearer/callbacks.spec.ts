import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import express from 'express'
import { requireBearer } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'
import { warned } from '../support/heard'

const dev = devIssuer()
const { issuer, audience } = dev.options

/** Asks an API with these options once: the status, and what the error handler or the answer says. */
async function asking(options: object, claims: object = {}) {
  const app = express().use(requireBearer({ ...dev.options, ...options }))
  app.use((_req, res) => void res.end('let in'))
  const failed: express.ErrorRequestHandler = (err: unknown, _req, res, _next) =>
    void res.status(500).end(err instanceof Error ? err.message : String(err))
  const { url } = await serve(app.use(failed))
  const authorization = `Bearer ${dev.token('ada', { claims: { ...claims } })}`
  const answer = await fetch(url, { headers: { authorization }, signal: AbortSignal.timeout(5_000) })
  return [answer.status, await answer.text()] as const
}

const refusal = () => Promise.reject(new Error('late'))
const ways: readonly [string, () => unknown][] = [
  ['resolves', () => Promise.resolve(true)],
  ['rejects', refusal],
  [
    'is a promise of another library',
    () => ({ then: (_: unknown, failed: (err: Error) => void) => failed(new Error()) }),
  ],
]

describe('requireBearer() and a function that must answer at once', () => {
  const given: readonly [string, (answer: () => unknown) => object][] = [
    ['session', (answer) => ({ session: answer })],
    ['checkClaims', (answer) => ({ checkClaims: answer })],
    ['tokenFrom', (answer) => ({ tokenFrom: answer })],
  ]
  for (const [name, options] of given) {
    for (const [way, answer] of ways) {
      it(`makes a TypeError for the error handler of ${name} whose answer ${way}`, async () => {
        const [status, message] = await asking(options(answer))
        assert.equal(status, 500)
        assert.match(message, new RegExp(`^${name} returned a promise, and must answer at once`))
      })
    }
  }

  it('does the same for checkClaims of all issuers', async () => {
    const trusted = { ...dev.options, checkClaims: () => true }
    const all = { issuer: undefined, audience: undefined, key: undefined, issuers: [trusted], checkClaims: refusal }
    assert.match((await asking(all))[1], /^checkClaims returned a promise/)
  })

  it('does the same after an asynchronous verification', async () => {
    const verify = () => Promise.resolve({ aud: audience, sub: 'ada' })
    assert.match((await asking({ issuer, key: undefined, verify, session: refusal }))[1], /^session returned a promise/)
  })
})

describe('requireBearer() and a function that throws', () => {
  it('never lets a request in because a callback throws undefined or ’route’', async () => {
    for (const thrown of [undefined, null, 'route', 'router', 0, '']) {
      const error = thrown as unknown as Error
      const throwing = () => {
        throw error
      }
      for (const options of [
        { tokenFrom: throwing },
        { revocation: { state: throwing } },
        { revocation: { state: () => Promise.reject(error) } },
        { onDenied: throwing, audience: 'https://other.test' },
        { onDenied: () => Promise.reject(error), audience: 'https://other.test' },
      ]) {
        assert.equal((await asking(options))[0], 500, `${Object.keys(options)[0]} throws ${String(thrown)}`)
      }
      for (const options of [{ session: throwing }, { checkClaims: throwing }]) {
        assert.equal((await asking(options))[0], 401)
      }
      const verify = () => Promise.reject(error)
      assert.equal((await asking({ key: undefined, verify }))[0], 503)
    }
  })

  it('warns of session and checkClaims, whose tokens get 401', async () => {
    const said = warned({ after }, 'TOLLGATE_ISSUER')
    const throwing = () => {
      throw new RangeError('with a secret')
    }
    for (const options of [{ session: throwing }, { checkClaims: throwing }, { session: () => 'ada' }]) {
      assert.equal((await asking(options))[0], 401)
    }
    assert.equal((await asking({ checkClaims: () => false }))[0], 401)
    await setImmediate()
    const begin = `a token of the issuer '${issuer}' was refused with 401, since the option`
    const end = 'onDenied gets the error as err.cause (express-tollgate/docs/troubleshooting.md#tollgate_issuer)'
    assert.deepEqual(said, [
      `${begin} session threw RangeError. ${end}`,
      `${begin} checkClaims threw RangeError. ${end}`,
      `${begin} session returned no session. ${end}`,
    ])
  })

  it('answers 503 where fetch throws, rejects, answers nothing, or never answers', async () => {
    const clock = {
      now: () => 0,
      date: () => Date.now(),
      after: (_ms: number, run: () => void) => (run(), () => undefined),
    }
    for (const [fetch, more] of [
      [
        () => {
          throw new Error('no proxy')
        },
        {},
      ],
      [refusal, {}],
      [() => undefined, {}],
      [() => Promise.resolve({ status: 403, body: {} }), {}],
      [() => new Promise(() => undefined), { clock }],
    ] as const) {
      const options = { key: undefined, jwksUri: `${issuer}/keys`, warnings: false, fetch, ...more }
      assert.equal((await asking(options))[0], 503)
    }
  })
})

/** As a promise of zone.js, which replaces the global one: it is no instance of the native Promise. */
function foreign<Value>(value: Value): Promise<Value> {
  const promised = setImmediate(value)
  return { then: promised.then.bind(promised) } as Promise<Value>
}

describe('requireBearer() and a promise of another library', () => {
  it('waits for keys, verify and tenants, and goes by the answer', async () => {
    const tenanted = { issuer: issuer.replace('dev-issuer', '{name}'), warnings: false }
    for (const isGood of [true, false]) {
      const answer = <Value>(value: Value) => foreign(isGood ? value : undefined)
      for (const options of [
        { key: undefined, keys: () => answer(dev.options.key), warnings: false },
        { key: undefined, verify: () => answer({ aud: audience, sub: 'ada' }), warnings: false },
        { ...tenanted, tenants: () => foreign(isGood) },
      ]) {
        assert.equal((await asking(options))[0], isGood ? 200 : 401, Object.keys(options).join())
      }
    }
  })
})

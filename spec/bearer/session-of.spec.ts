import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { type RevocationSource, type Session, requireBearer, sessionOf } from '../../lib'
import { devIssuer, manualClock } from '../../lib/testing'
import { serve } from '../support/serve'
import { assertIs, atMost } from '../support/until'
import { withHelpLink } from '../support/help-link'

const dev = devIssuer()
const shown: ErrorRequestHandler = (err: Error, _req, res, _next) =>
  void res.status(500).send(`${err.name}: ${err.message}`)

/** What a handler answers that takes the session of a request, after these. */
async function asking(...before: RequestHandler[]) {
  const app = express().use(...before, (req, res) => void res.send(sessionOf(req).sub))
  const { url } = await serve(app.use(shown))
  return async (headers: Record<string, string> = {}) => (await fetch(url, { headers })).text()
}

describe('the signal of a session', () => {
  it('is aborted when the token expires or is revoked, also of check(), and not before', async () => {
    const gone = new Set<string>()
    const revocation: RevocationSource = { state: ({ sub = '' }) => (gone.has(sub) ? 'revoked' : 'valid') }
    const late: RevocationSource = { state: (session: Session) => Promise.resolve(revocation.state(session)) }
    for (const [source, who] of [
      [revocation, 'revoked'],
      [late, 'revoked'],
      [revocation, 'expired'],
      [undefined, 'expired'],
    ] as const) {
      const clock = manualClock()
      gone.clear()
      const bearer = requireBearer({ ...dev.options, clock, revocation: source })
      const token = dev.token('ada', { expiresInSec: 60 })
      const session = await bearer.check(token)
      const { signal } = session
      assert.equal((await bearer.check(token)).signal, signal)
      assert.ok(!Object.keys(session).includes('signal') && !signal.aborted)
      clock.advance(5_000)
      assert.ok(!signal.aborted)
      if (who === 'revoked') gone.add('ada')
      else clock.advance(60_000)
      clock.advance(600)
      await setImmediate()
      assert.equal((signal.reason as { reason?: string } | undefined)?.reason, who)
      if (source !== late) assert.equal(session.signal.aborted, true) // asked for again, it has ended at once
    }
  })

  it('is looked at in turn: not those of all open connections at once', async () => {
    const clock = manualClock()
    let asked = 0
    const revocation: RevocationSource = { state: () => (asked++, clock.now() > 0 ? 'revoked' : 'valid') }
    const bearer = requireBearer({ ...dev.options, clock, revocation })
    const tokens = Array.from({ length: 1_200 }, (_, i) => dev.token(`user-${i}`))
    const signals = await Promise.all(tokens.map(async (token) => (await bearer.check(token)).signal))
    for (let ms = 0; ms < 1_000; ms += 50) {
      asked = 0
      clock.advance(50)
      assertIs(asked, atMost(500))
    }
    assert.ok(signals.every(({ aborted }) => aborted))
  })
})

describe('sessionOf()', () => {
  const authorization = `Bearer ${dev.token('ada')}`
  const through: RequestHandler = (_req, _res, next) => next()

  it('is the session let in, also where another package has written to req.auth since', async () => {
    assert.equal(await (await asking(requireBearer(dev.options)))({ authorization }), 'ada')
    const others: RequestHandler = (req, _res, next) => {
      Object.assign(req, { auth: { sub: 'eve' } })
      next()
    }
    assert.equal(await (await asking(requireBearer(dev.options), others))({ authorization }), 'ada')
  })

  it('throws where no requireBearer() ran, and says what to mount', async () => {
    const message =
      'TypeError: sessionOf(req) found no session in the request: mount requireBearer() before this handler'
    assert.equal(await (await asking(through))(), withHelpLink('TOLLGATE_USAGE', message))
  })

  it('throws where optional: true let the request in without a token, and says where else to look', async () => {
    const ask = await asking(requireBearer({ ...dev.options, optional: true }))
    assert.equal(await ask({ authorization }), 'ada')
    const message =
      'TypeError: sessionOf(req) found no session: requireBearer({ optional: true }) let the request in without a token; ' +
      'read req.auth, which may be undefined'
    assert.equal(await ask(), withHelpLink('TOLLGATE_USAGE', message))
  })
})

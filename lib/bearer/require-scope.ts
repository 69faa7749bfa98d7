import type { RequestHandler } from 'express'
import { deny } from '../http/deny'
import { shown } from '../http/options'
import { denialOf } from './challenge'
import { checkedBy } from './request-session'
import { isScope, missingScope } from './scope'

/**
 * Lets in sessions that were granted all of these scopes, and answers the others with 403 `insufficient_scope` that
 * names them (RFC 6750 §3.1). It stands on a route, after `requireBearer()`, and answers as that does.
 *
 * @example app.delete('/persons/:id', requireScope('write', 'delete'), remove)
 * @throws {TypeError} in the factory, unless it is given scopes as RFC 6749 §3.3 writes them; for a request, where no
 *   `requireBearer()` stands before
 */
export function requireScope(...scope: readonly string[]): RequestHandler {
  if (scope.length === 0) throw new TypeError('requireScope() must be given one scope or more')
  for (const one of scope) {
    if (!isScope(one))
      throw new TypeError(`requireScope() takes scopes as RFC 6749 §3.3 writes them; received ${shown(one)}`)
  }

  return function requireScope(req, res, next) {
    const checked = checkedBy(req)
    if (!checked) throw new TypeError('requireScope() must stand after requireBearer()')
    const { session, config } = checked
    if (session && missingScope(session.scope, scope).length === 0) return next()
    const refusal = session ? ({ refused: 'scope', scope } as const) : ({ refused: 'no_token' } as const)
    deny(denialOf(refusal, config.challenge), config.deny, req, res, next)
  }
}

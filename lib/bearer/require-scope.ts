import { deny } from '../http/answer/deny'
import { optionError, usageError } from '../http/help'
import { type Middleware, middleware } from '../http/middleware'
import { isRequest, shown, uncalled } from '../http/options'
import { denialOf } from './challenge'
import { publish } from './diagnostics'
import type { Refusal } from './refusal/refusal'
import { bearerCheckOf } from './request-session'
import { scopeRule, grantsScope } from './session/scope'

/**
 * Lets in sessions with all of these scopes, or with one of `{ any }`. Others get 403 `insufficient_scope`, which names
 * the scopes (RFC 6750 §3.1). Mount it on a route, after `requireBearer()`; both send errors in the same format.
 *
 * @example app.delete('/persons/:id', requireScope('write', 'delete'), remove)
 * @example app.get('/persons/:id', requireScope({ any: ['read', 'admin'] }), person)
 * @throws {TypeError} in the factory, without scopes; for a request, if no `requireBearer()` ran before, or if a scope
 *   breaks the syntax of RFC 6749 §3.3 and no issuer has `scopeFrom` or `session`
 */
export function requireScope(...scope: readonly string[] | [{ readonly any: readonly string[] }]): Middleware {
  if (isRequest(scope[0])) throw uncalled('requireScope', "'read'")
  const rule = scopeRule(scope.length === 1 && typeof scope[0] === 'object' ? scope[0] : scope)
  if (!rule || rule.scopes.length === 0) {
    throw optionError(`requireScope() takes one scope or more; received ${shown(scope)}`)
  }

  return middleware(function requireScope(req, res, next) {
    const checked = bearerCheckOf(req)
    if (!checked) throw usageError('requireScope() must stand after requireBearer()')
    const { session, config } = checked
    if (rule.role !== undefined && !config.takesRoles) {
      throw optionError(
        `${shown(rule.role)} is no scope as RFC 6749 §3.3 writes them: give several one by one; for a role set scopeFrom`,
      )
    }
    if (session && grantsScope(session.scope, rule)) return next()
    const refusal: Refusal = { refused: session ? 'scope' : 'no_token', scope: rule.scopes }
    publish(req, refusal)
    deny(denialOf(refusal, config.challenge), config.deny, req, res, next)
  })
}

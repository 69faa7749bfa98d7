import { deny } from '../http/deny'
import { optionError, usageError } from '../http/help'
import { type Middleware, middleware } from '../http/middleware'
import { isRequest, shown, uncalled } from '../http/options'
import { denialOf } from './challenge'
import { publish } from './diagnostics'
import type { Refusal } from './refusal/refusal'
import { bearerCheckOf } from './request-session'
import { scopeRule, grantsScope } from './session/scope'

/**
 * Lets in sessions that were granted all of these scopes, or with `{ any }` one of them, and answers the others with
 * 403 `insufficient_scope` that names them (RFC 6750 §3.1). It stands on a route, after `requireBearer()`, and answers
 * as that does.
 *
 * @example app.delete('/persons/:id', requireScope('write', 'delete'), remove)
 * @example app.get('/persons/:id', requireScope({ any: ['read', 'admin'] }), person)
 * @throws {TypeError} in the factory, unless it is given scopes; for a request, where no `requireBearer()` stands before,
 *   or none of its issuers has `scopeFrom` or `session` and a scope is not as RFC 6749 §3.3 writes them
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
    if (rule.role !== undefined && !config.takesRoles) throw noScope(rule.role)
    if (session && grantsScope(session.scope, rule)) return next()
    const refusal: Refusal = session
      ? { refused: 'scope', scope: rule.scopes }
      : { refused: 'no_token', scope: rule.scopes }
    publish(req, refusal)
    deny(denialOf(refusal, config.challenge), config.deny, req, res, next)
  })
}

/** What no token can grant is a mistake: most often two scopes in one text. */
export function noScope(role: string): TypeError {
  return optionError(
    `${shown(role)} is no scope as RFC 6749 §3.3 writes them: give several one by one; for a role set scopeFrom`,
  )
}

import type { Dialect } from '../http/answer/dialect'
import { optionError } from '../http/help'
import { isJsonObject } from '../http/json'
import type { Middleware } from '../http/middleware'
import { isRequest, optionNames, shown, uncalled } from '../http/options'
import { scopesKept } from './request-session'
import { sessionRule } from './session-rule'
import { scopeRule, grantsScope } from './session/scope'

/** Last argument of {@link requireScope}. */
export interface ScopeOptions {
  /** Scopes of which one is enough: `['read', 'admin']`. Without it, all scopes given before are needed. */
  readonly any?: readonly string[] | undefined
  /** Formats on the wire: `'familysearch'` or `'standard'`. Default: those of `requireBearer()`. */
  readonly dialect?: Dialect | undefined
}

/**
 * Lets in sessions with all of these scopes, or with one of `{ any }`. Others get 403 `insufficient_scope`, which names
 * the scopes, with those of `requireBearer()` and of rules before (RFC 6750 §3.1). Mount it on a route, after `requireBearer()`; both send errors in the same format.
 *
 * @example app.delete('/persons/:id', requireScope('write', 'delete'), remove)
 * @example app.get('/persons/:id', requireScope({ any: ['read', 'admin'] }), person)
 * @param scopes scopes that are all needed; the last argument may be options: `{ any }`, `{ dialect: 'standard' }`
 * @throws {TypeError} in the factory, without scopes; for a request, if no `requireBearer()` ran before, or if a scope
 *   breaks the syntax of RFC 6749 §3.3 and no issuer has `scopeFrom` or `session`
 */
export function requireScope(...scopes: readonly string[] | readonly [...string[], ScopeOptions]): Middleware {
  if (isRequest(scopes[0])) throw uncalled('requireScope', "'read'")
  const last = scopes.at(-1)
  const options: ScopeOptions = isJsonObject(last) ? last : {}
  const all = last === options ? scopes.slice(0, -1) : scopes
  optionNames('requireScope()', options, ['any', 'dialect'])
  const { any, dialect } = options
  const rule = scopeRule(any === undefined ? all : { any })
  if (!rule || rule.scopes.length === 0 || (any !== undefined && all.length > 0)) {
    throw optionError(
      `requireScope() takes one scope or more, one by one: requireScope('read', 'write'), or { any: [...] }; received ${shown(scopes)}`,
    )
  }

  return sessionRule('requireScope', dialect, ({ session, config, needed }) => {
    if (rule.role !== undefined && !config.takesRoles) {
      const several = rule.scopes.flatMap((text) => text.split(' ')).map(shown)
      throw optionError(
        `${shown(rule.role)} is no scope as RFC 6749 §3.3 writes them: write requireScope(${several.join(', ')}); for a role ` +
          'set scopeFrom',
      )
    }
    if (!session || !grantsScope(session.scope, rule)) {
      return { refused: session ? 'scope' : 'no_token', scope: [...new Set([...needed, ...rule.scopes])] }
    }
    for (const scope of scopesKept(rule, session)) needed.add(scope)
    return undefined
  })
}

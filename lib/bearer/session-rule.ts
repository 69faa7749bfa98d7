import { deny } from '../http/answer/deny'
import { type Dialect, checkDialect } from '../http/answer/dialect'
import { usageError } from '../http/help'
import { type Middleware, middleware } from '../http/middleware'
import { defined } from '../http/options'
import { denialOf } from './challenge'
import { publish } from './diagnostics'
import type { Refusal } from './refusal/refusal'
import { type BearerCheck, bearerCheckOf } from './request-session'

/**
 * Middleware for a route after `requireBearer()`. It refuses the requests that `judge` refuses, and sends errors in the
 * format of that check.
 *
 * @param factory name of its factory, which tracing agents show: `requireScope`
 * @param dialect default: that of `requireBearer()`
 * @throws {TypeError} if `dialect` is none; for a request, if no `requireBearer()` ran before
 */
export function sessionRule(
  factory: string,
  dialect: Dialect | undefined,
  judge: (check: BearerCheck) => Refusal | undefined,
): Middleware {
  checkDialect(dialect)
  const rule = middleware((req, res, next) => {
    const check = bearerCheckOf(req)
    if (!check) throw usageError(`${factory}() must stand after requireBearer()`)
    const refusal = judge(check)
    if (!refusal) return next()
    publish(req, refusal)
    const { challenge, deny: options } = check.config
    deny(denialOf(refusal, challenge, req), { ...options, ...defined({ dialect }) }, req, res, next)
  })
  return Object.defineProperty(rule, 'name', { value: factory })
}

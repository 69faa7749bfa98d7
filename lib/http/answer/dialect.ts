import type { Request } from 'express'
import { optionOneOf } from '../options'

/**
 * Formats on the wire: `familysearch` is the service that this package implements, `standard` what generic clients expect.
 *
 * @example app.set('tollgate dialect', 'standard')
 */
export type Dialect = 'familysearch' | 'standard'

/** The app setting that applies to every factory without the option `dialect`. */
const SETTING = 'tollgate dialect'
const DIALECTS: readonly Dialect[] = ['familysearch', 'standard']

/** The setting of each app, read when the app first needs it. */
const settings = new WeakMap<object, Dialect>()

/** @throws {TypeError} if `dialect` is neither a dialect nor undefined */
export function checkDialect(dialect: Dialect | undefined): void {
  if (dialect !== undefined) optionOneOf('dialect', dialect, DIALECTS)
}

/**
 * Dialect of a request: the option, else the setting of its app, else `familysearch`.
 *
 * @throws {TypeError} if the app's setting is not a dialect
 */
export function dialectOf(option: Dialect | undefined, req: Request): Dialect {
  if (option !== undefined) return option
  const { app } = req as Partial<Request> // undefined in a router without an Express app
  if (app === undefined) return 'familysearch'
  let dialect = settings.get(app)
  if (dialect === undefined) {
    dialect = (app.get(SETTING) ?? 'familysearch') as Dialect
    optionOneOf(`app.get('${SETTING}')`, dialect, DIALECTS)
    settings.set(app, dialect)
  }
  return dialect
}

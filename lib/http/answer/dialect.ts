import type { Request } from 'express'
import { optionError } from '../help'
import { editDistance, optionOneOf, shown } from '../options'
import { warnOnce } from '../warn-once'

/**
 * Formats on the wire: `familysearch` is the service that this package implements, `standard` what generic clients expect.
 *
 * @example app.set('tollgate dialect', 'standard')
 */
export type Dialect = 'familysearch' | 'standard'

/** The app setting that applies to every factory without the option `dialect`. */
const SETTING = 'tollgate dialect'
const DIALECTS: readonly Dialect[] = ['familysearch', 'standard']

/** The setting of each app, read when the app first needs it; undefined where it has none. */
const settings = new WeakMap<object, Dialect | undefined>()

/** @throws {TypeError} if `dialect` is neither a dialect nor undefined */
export function checkDialect(dialect: Dialect | undefined): void {
  if (dialect !== undefined) optionOneOf('dialect', dialect, DIALECTS)
}

/**
 * Dialect of a request: the option, else the setting of its app, else `familysearch`.
 *
 * @throws {TypeError} if the app's setting is not a dialect, or has another name
 */
export function dialectOf(option: Dialect | undefined, req: Request): Dialect {
  return option ?? settingOf(req) ?? 'familysearch'
}

/** As {@link dialectOf}, for the body of an error: warns once where nobody has chosen the dialect. */
export function bodyDialect(option: Dialect | undefined, req: Request): Dialect {
  const chosen = option ?? settingOf(req)
  if (chosen === undefined) {
    warnOnce(
      'TOLLGATE_DIALECT',
      "no dialect is chosen, so errors have the service's own format, XML by default; for JSON write " +
        `app.set('${SETTING}', 'standard') before the first request, or give each factory dialect: 'standard'; ` +
        "'familysearch' keeps this format and silences the warning",
    )
  }
  return chosen ?? 'familysearch'
}

function settingOf(req: Request): Dialect | undefined {
  const { app } = req as Partial<Request> // undefined in a router without an Express app
  if (app === undefined) return undefined
  if (!settings.has(app)) {
    const dialect = app.get(SETTING) as Dialect | undefined
    if (dialect === undefined) checkSimilarSettings(app.settings as Record<string, unknown>)
    else optionOneOf(`app.get('${SETTING}')`, dialect, DIALECTS)
    settings.set(app, dialect)
  }
  return settings.get(app)
}

/** The letters of a name, for a comparison. */
const lettersOf = (name: string) => name.toLowerCase().replace(/[^a-z]/g, '')

/** @throws {TypeError} if a setting has nearly the name, such as `tollgate-dialect` or `tollgateDialect` */
function checkSimilarSettings(settings: Readonly<Record<string, unknown>>): void {
  for (const name in settings) {
    const letters = lettersOf(name)
    const isNear = editDistance(letters, lettersOf(SETTING)) <= 3
    const isNamed = /tollgate|dialect/.test(letters) && (DIALECTS as readonly unknown[]).includes(settings[name])
    if (isNear || isNamed) throw optionError(`the app's setting ${shown(name)} must be named '${SETTING}'`)
  }
}

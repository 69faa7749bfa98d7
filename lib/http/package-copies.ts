import { warnOnce } from './warn-once'

/**
 * Version of the interface between copies of this package in one process: sessions, hooks, meters and their observers.
 * Raise it with every incompatible change.
 */
export const PROTOCOL = 2

const seenProtocols = Symbol.for('express-tollgate.protocols')

/** A property that all copies with this protocol share. */
export function sharedSymbol(name: string): symbol {
  return Symbol.for(`express-tollgate.${name}.${PROTOCOL}`)
}

/**
 * Notes that a copy with this protocol is at work. Package managers and reloads make copies: two protocols do not know
 * each other, and the second one warns.
 *
 * @param owner keeps the note
 */
export function noteCopy(owner: object = globalThis): void {
  const noted = owner as { [seenProtocols]?: Set<number> }
  const seen = noted[seenProtocols]
  if (seen === undefined) return void Object.defineProperty(noted, seenProtocols, { value: new Set([PROTOCOL]) })
  if (seen.has(PROTOCOL)) return
  seen.add(PROTOCOL)
  warnOnce(
    'TOLLGATE_COPIES',
    'This process has loaded two versions of express-tollgate that do not know each other: what requireBearer() of ' +
      'one finds out, throttle() of the other does not see, so addresses pay. Install one version: see npm why express-tollgate',
  )
}

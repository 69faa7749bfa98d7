import { warnOnce } from './warn-once'

/**
 * Version of the interface between copies of this package in one process: sessions, hooks, meters and their observers.
 * Raise it with every incompatible change.
 */
export const PROTOCOL = 1

const seenProtocols = Symbol.for('express-tollgate.protocols')

/** A property that all copies with this protocol share. */
export function sharedSymbol(name: string): symbol {
  return Symbol.for(`express-tollgate.${name}.${PROTOCOL}`)
}

/**
 * Whether this copy is the first with its protocol to ask. Package managers and reloads make copies. Two protocols in
 * one process do not know each other: the second one warns.
 *
 * @param owner object that keeps the note; a process has one of it
 */
export function isFirstCopy(owner: object): boolean {
  const noted = owner as { [seenProtocols]?: Set<number> }
  const seen = Object.hasOwn(noted, seenProtocols) ? noted[seenProtocols] : undefined
  if (seen?.has(PROTOCOL)) return false
  if (seen === undefined) Object.defineProperty(owner, seenProtocols, { value: new Set([PROTOCOL]) })
  else {
    seen.add(PROTOCOL)
    warnOnce(
      'TOLLGATE_COPIES',
      'This process has loaded two versions of express-tollgate that do not know each other: what requireBearer() of ' +
        'one finds out, throttle() of the other does not see. Install one version: see npm ls express-tollgate',
    )
  }
  return true
}

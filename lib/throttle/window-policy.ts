import type { Request } from 'express'
import { answeredAtOnce } from '../http/callback'
import { optionRange, shown } from '../http/options'
import { warnOnce } from '../http/warn-once'

/** The limit of a window in milliseconds, or how a request's plan tells it. */
export type LimitMs = number | ((req: Request) => number)

/** A window: so much processing time per so much real time. Two of one name are one where the rest is equal, too. */
export interface WindowPolicy {
  readonly name: string
  readonly limitMs: LimitMs
  readonly windowMs: number
}

/** @throws {TypeError | RangeError} naming the option that is wrong; `option` comes before its name */
export function windowPolicy(option: string, { limitMs, windowMs, name }: WindowPolicy): WindowPolicy {
  if (typeof limitMs !== 'function') optionRange(`${option}limitMs`, limitMs, 1, 86_400_000)
  optionRange(`${option}windowMs`, windowMs, 10, 2_592_000_000)
  if (windowMs < 1_000) warnOfShortWindow(option, windowMs)
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(name) || /["\\]/.test(name)) {
    const wanted = '1 to 128 printable ASCII characters without quotes and backslashes'
    throw new TypeError(`${option}name must be ${wanted}; received ${shown(name)}`)
  }
  return { name, limitMs, windowMs }
}

/** Other packages count in seconds. */
function warnOfShortWindow(option: string, windowMs: number): void {
  warnOnce(
    'TOLLGATE_WINDOW',
    `${option}windowMs: ${windowMs} is a window of ${windowMs} milliseconds; ${windowMs} seconds are ` +
      `windowMs: ${(windowMs * 1_000).toLocaleString('en').replaceAll(',', '_')}`,
  )
}

/**
 * The limit of a request where the app gives a function for it, in microseconds.
 *
 * @throws {TypeError | RangeError} where it is no number from 1 to 86,400,000: the app's mistake, found at a request
 */
export function requestLimitUs(limitMs: (req: Request) => number, req: Request): number {
  const limit: unknown = answeredAtOnce('limitMs', limitMs(req))
  const message = `limitMs(req) must return a number from 1 to 86,400,000; it returned ${shown(limit)}`
  if (typeof limit !== 'number') throw new TypeError(message)
  if (!(limit >= 1 && limit <= 86_400_000)) throw new RangeError(message)
  return Math.round(limit * 1_000)
}

import type { Request } from 'express'
import { answeredAtOnce } from '../http/callback'
import { optionError } from '../http/help'
import type { EventStreams } from '../http/meter'
import { optionOneOf, optionRange, optionType, shown } from '../http/options'
import { warnOnce } from '../http/warn-once'

/** The limit of a window in milliseconds, or how a request's plan tells it. */
export type LimitMs = number | ((req: Request) => number)

/**
 * So much processing time per so much real time, and what counts. Throttles over one store share the window of a name;
 * their limits, windows and `carryOver` must be equal.
 */
export interface Policy {
  readonly name: string
  readonly limitMs: LimitMs
  readonly windowMs: number
  /** Waits for slow clients that are excused. Undefined: twice the request's limit. */
  readonly clientWaitMs: number | undefined
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOver: boolean
  /** Undefined: the time to the header for a GET, all of it for other methods. */
  readonly eventStreams: EventStreams | undefined
}

/** What a request may be excused at most: a day. */
const MOST_MS = 86_400_000
const DEFAULT_CLIENT_WAIT_LIMITS = 2

/** @throws {TypeError | RangeError} naming the option that is wrong; `option` comes before its name */
export function checkPolicy(option: string, policy: Policy): Policy {
  const { limitMs, windowMs, name, clientWaitMs, carryOver, eventStreams } = policy
  if (typeof limitMs !== 'function') optionRange(`${option}limitMs`, limitMs, 1, MOST_MS)
  optionRange(`${option}windowMs`, windowMs, 10, 2_592_000_000)
  if (windowMs < 1_000) warnOfShortWindow(option, windowMs)
  if (typeof name !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(name) || /["\\]/.test(name)) {
    const wanted = '1 to 128 printable ASCII characters without quotes and backslashes'
    throw optionError(`${option}name must be ${wanted}; received ${shown(name)}`)
  }
  if (clientWaitMs !== undefined) optionRange(`${option}clientWaitMs`, clientWaitMs, 0, MOST_MS)
  optionType(`${option}carryOver`, carryOver, 'boolean')
  if (eventStreams !== undefined) optionOneOf(`${option}eventStreams`, eventStreams, ['header', 'whole'])
  return policy
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
 * The limit of a request, in microseconds.
 *
 * @throws {TypeError | RangeError} where the app's function returns no number from 1 to 86,400,000
 */
export function requestLimitUs({ limitMs }: Policy, req: Request): number {
  if (typeof limitMs === 'number') return limitMs * 1_000
  const limit: unknown = answeredAtOnce('limitMs', limitMs(req))
  const message = `limitMs(req) must return a number from 1 to 86,400,000; it returned ${shown(limit)}`
  if (typeof limit !== 'number') throw optionError(message)
  if (!(limit >= 1 && limit <= MOST_MS)) throw optionError(message, RangeError)
  return Math.round(limit * 1_000)
}

/** Client waits that are excused to a subject in a window, in microseconds. */
export function clientWaitUs({ clientWaitMs }: Policy, limitUs: number): number {
  return clientWaitMs === undefined ? limitUs * DEFAULT_CLIENT_WAIT_LIMITS : clientWaitMs * 1_000
}

import type { HeaderFields } from '../../http/given-fields'
import { wholeSeconds } from './refusal-message'

/** Which response fields a throttle sets. `X-PROCESSING-TIME` and `Retry-After` are always set. */
export interface ThrottleHeaders {
  /** `X-THROTTLE-WINDOW-SIZE`, `-MILLIS-USED` and `-MILLIS-LEFT`, except on a 429. Default true. */
  readonly throttle?: boolean
  /** The same three on a 429, of the window with the least left. Default false, as recorded from the real service. */
  readonly throttleOnRefusal?: boolean
  /**
   * `RateLimit-Policy` and `RateLimit` of the IETF draft (-10), in milliseconds with the unit named, on a
   * 429, too. Default false.
   */
  readonly rateLimit?: boolean
}

/** How a subject stands in one window, in microseconds. */
export interface WindowUse {
  readonly name: string
  readonly windowMs: number
  readonly limitUs: number
  readonly usedUs: number
  readonly endsInUs: number
}

/** The service's own fields. The "window size" is the budget, not the window's length. Microseconds. */
export function throttleFields(res: HeaderFields, limitUs: number, usedUs: number): void {
  const limitMs = Math.round(limitUs / 1_000)
  const usedMs = Math.max(0, Math.round(usedUs / 1_000))
  res.setHeader('X-THROTTLE-WINDOW-SIZE', limitMs)
  res.setHeader('X-THROTTLE-MILLIS-USED', usedMs)
  res.setHeader('X-THROTTLE-MILLIS-LEFT', Math.max(0, limitMs - usedMs))
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-10. It knows no unit of time and takes a missing `qu` as requests,
 * so the unit is named.
 */
export function rateLimitFields(res: HeaderFields, uses: readonly WindowUse[]): void {
  const policies = uses.map(({ name, limitUs, windowMs }) => {
    return `"${name}";q=${Math.round(limitUs / 1_000)};qu="milliseconds";w=${Math.ceil(windowMs / 1_000)}`
  })
  const limits = uses.map(({ name, limitUs, usedUs, endsInUs }) => {
    const leftMs = Math.max(0, Math.floor((limitUs - usedUs) / 1_000))
    return `"${name}";r=${leftMs};t=${wholeSeconds(endsInUs)}`
  })
  res.setHeader('RateLimit-Policy', policies.join(', '))
  res.setHeader('RateLimit', limits.join(', '))
}

import type { HeaderFields } from '../../http/given-fields'
import type { Charged } from './charges'
import { wholeSeconds } from './refusal-message'

/** Which response fields a throttle sets. `X-PROCESSING-TIME` and `Retry-After` are always set. */
export interface ThrottleHeaders {
  /** `X-THROTTLE-WINDOW-SIZE`, `-MILLIS-USED` and `-MILLIS-LEFT`, except on a 429. Default true. */
  readonly throttle?: boolean | undefined
  /** The same three on a 429, of the window with the least left. Default false, as recorded from the real service. */
  readonly throttleOnRefusal?: boolean | undefined
  /**
   * `RateLimit-Policy` and `RateLimit` of the IETF draft (-10), in milliseconds with the unit named, on a
   * 429, too. Default false.
   */
  readonly rateLimit?: boolean | undefined
}

/** The service's own fields. The "window size" is the budget, not the window's length. Microseconds. */
export function throttleFields(res: HeaderFields, limitUs: number, usedUs: number): void {
  const limitMs = Math.round(limitUs / 1_000)
  const usedMs = Math.max(0, Math.round(usedUs / 1_000))
  res.setHeader('X-THROTTLE-WINDOW-SIZE', limitMs)
  res.setHeader('X-THROTTLE-MILLIS-USED', usedMs)
  res.setHeader('X-THROTTLE-MILLIS-LEFT', Math.max(0, limitMs - usedMs))
}

/** Whether the throttle that this was charged by sets the `RateLimit` fields. */
export function isStated({ asks }: Charged): boolean {
  return asks.headers.rateLimit === true
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-10. It knows no unit of time and takes a missing `qu` as requests,
 * so the unit is named.
 */
export function rateLimitFields(res: HeaderFields, charged: readonly Charged[], now: number): void {
  const policies = charged.map(({ asks: { ledger, limitUs } }) => {
    return `"${ledger.name}";q=${Math.round(limitUs / 1_000)};qu="milliseconds";w=${Math.ceil(ledger.windowMs / 1_000)}`
  })
  const limits = charged.map((each) => {
    const { ledger, limitUs } = each.asks
    const account = ledger.current(each.hold.account, now)
    const leftMs = Math.max(0, Math.floor((limitUs - account.shown(now)) / 1_000))
    return `"${ledger.name}";r=${leftMs};t=${wholeSeconds(account.endsInUs(now))}`
  })
  res.setHeader('RateLimit-Policy', policies.join(', '))
  res.setHeader('RateLimit', limits.join(', '))
}

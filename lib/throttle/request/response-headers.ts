import type { HeaderFields } from '../../http/measure/given-fields'
import { wholeSeconds } from './refusal'
import { type RequestHold, isEnforced, tightest } from './window'

/**
 * Sets the fields of a response. Clients hear nothing of a dry run.
 *
 * @param first leads to all holds of the request
 */
export function setFields(res: HeaderFields, first: RequestHold, isRefused: boolean, now: number): void {
  const least = tightest(first, now, isEnforced)
  if (least === undefined) return
  const { throttle } = least.window.headers
  if (isRefused ? throttle === 'always' : throttle)
    throttleFields(res, least.limitUs, least.account.current(now).shownUs(now))
  let windows: StatedWindow[] | undefined
  for (let hold: RequestHold | undefined = first; hold !== undefined; hold = hold.next) {
    const { window, limitUs } = hold
    if (!window.headers.rateLimit || window.dryRun) continue
    const account = hold.account.current(now)
    const [usedUs, endsInUs] = [account.shownUs(now), account.endsInUs(now)]
    const { name } = window.accounts
    ;(windows ??= []).unshift({ name, limitUs, usedUs, windowUs: account.terms.windowUs, endsInUs })
  }
  if (windows !== undefined) rateLimitFields(res, windows)
}

/** The service's own fields. The "window size" is the budget, not the window's length. Microseconds. */
function throttleFields(res: HeaderFields, limitUs: number, usedUs: number): void {
  res.setHeader('X-THROTTLE-WINDOW-SIZE', Math.ceil(limitUs / 1_000))
  res.setHeader('X-THROTTLE-MILLIS-USED', Math.max(0, Math.floor(usedUs / 1_000)))
  res.setHeader('X-THROTTLE-MILLIS-LEFT', leftMs(limitUs, usedUs))
}

/** Whole milliseconds, rounded up: 0 where nothing is left, and nowhere else. */
function leftMs(limitUs: number, usedUs: number): number {
  return Math.max(0, Math.ceil((limitUs - usedUs) / 1_000))
}

/** What the `RateLimit` fields say of one window. Microseconds. */
interface StatedWindow {
  readonly name: string
  readonly limitUs: number
  readonly usedUs: number
  readonly windowUs: number
  readonly endsInUs: number
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-10. It knows no unit of time and takes a missing `qu` as requests,
 * so the unit is named.
 */
function rateLimitFields(res: HeaderFields, windows: readonly StatedWindow[]): void {
  const policies = windows.map(({ name, limitUs, windowUs }) => {
    return `"${name}";q=${Math.ceil(limitUs / 1_000)};qu="milliseconds";w=${Math.ceil(windowUs / 1_000_000)}`
  })
  const limits = windows.map(({ name, limitUs, usedUs, endsInUs }) => {
    return `"${name}";r=${leftMs(limitUs, usedUs)};t=${wholeSeconds(endsInUs)}`
  })
  res.setHeader('RateLimit-Policy', policies.join(', '))
  res.setHeader('RateLimit', limits.join(', '))
}

import { type RefusalFigures, denialError } from '../../errors'
import type { Refusal, RefusalReason } from '../account/decide'

/** The message of a 429, for people, by the reason of the refusal and the window's name. */
const TEXTS: Readonly<Record<RefusalReason, (window: string) => string>> = {
  // The service's own body carries this one, so it stays as it is.
  spent: (window) => `No processing time is left in the window "${window}" for this request`,
  hold: (window) =>
    `What is left in the window "${window}" is set aside for requests that are still running. Try again when they have ended`,
  places: (window) =>
    `Too many requests wait already for processing time in the window "${window}". Send fewer at the same time`,
  outage: (window) =>
    `Less processing time than usual can be granted in the window "${window}", and running requests use it. Try again later`,
}

/** The message of a 429: why the request is refused and, where it helps, what to do. Names nothing but the window. */
export function refusalMessage(reason: RefusalReason, window: string): string {
  return TEXTS[reason](window)
}

/** Why a running request is asked to stop. */
export function spentError(window: string, limitUs: number, usedUs: number): Error {
  const figures = figuresOf(window, { limitUs, usedUs, heldUs: 0, othersAgeUs: null })
  const message = refusalMessage('spent', window)
  return denialError({ status: 429, code: 'throttled', message, headers: {}, reason: 'spent', figures })
}

/** What a request was refused by, in milliseconds. */
export function figuresOf(
  window: string,
  { limitUs, usedUs, heldUs, othersAgeUs }: Pick<Refusal, 'limitUs' | 'usedUs' | 'heldUs' | 'othersAgeUs'>,
): RefusalFigures {
  return {
    window,
    limitMs: limitUs / 1_000,
    spentMs: usedUs / 1_000,
    heldMs: heldUs / 1_000,
    othersAgeMs: othersAgeUs === null ? null : othersAgeUs / 1_000,
  }
}

/** Whole seconds to wait, at least one, rounded up: a client that waits exactly this long is let in. */
export function wholeSeconds(us: number): number {
  return Math.max(1, Math.ceil(us / 1_000_000))
}

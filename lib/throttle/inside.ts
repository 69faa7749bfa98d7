import type { Clock } from '../http/clock'
import type { SharedWindow } from './shared-window'
import type { StoreLink } from './store-link'
import type { WindowTerms } from './window-terms'

/** What other rooms may see of a throttle behind its face. */
export interface ThrottleInside {
  readonly windows: readonly { readonly terms: WindowTerms; readonly window: SharedWindow }[]
  /** None where the windows are in this process's memory. */
  readonly link: StoreLink | undefined
  readonly clock: Clock
}

const insides = new WeakMap<object, ThrottleInside>()

export function keepInside(throttle: object, inside: ThrottleInside): void {
  insides.set(throttle, inside)
}

/** Undefined where it is no throttle of ours. */
export function insideOf(throttle: unknown): ThrottleInside | undefined {
  return typeof throttle === 'function' ? insides.get(throttle) : undefined
}

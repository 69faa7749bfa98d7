import type { Clock } from '../http/clock'
import type { SharedWindow } from './sync/shared-window'
import type { StoreHealth } from './sync/store-health'
import type { WindowPolicy } from './window-policy'

/** What other rooms may see of a throttle behind its face. */
export interface ThrottleIntrospection {
  readonly windows: readonly { readonly terms: WindowPolicy; readonly window: SharedWindow }[]
  /** None where the windows are in this process's memory. */
  readonly link: StoreHealth | undefined
  readonly clock: Clock
}

const insides = new WeakMap<object, ThrottleIntrospection>()

export function exposeForInspection(throttle: object, inside: ThrottleIntrospection): void {
  insides.set(throttle, inside)
}

/** Undefined where it is no throttle of ours. */
export function introspectionOf(throttle: unknown): ThrottleIntrospection | undefined {
  return typeof throttle === 'function' ? insides.get(throttle) : undefined
}

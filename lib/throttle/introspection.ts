import type { Clock } from '../http/clock'
import type { Overload } from './overload/overload'
import type { Policy } from './options'
import type { StallSharing } from './request/stalls'
import type { Accounts } from './store/accounts'
import type { SharedStore } from './store/shared-store'

/** What other rooms of the package see of a throttle, and apps do not. */
export interface ThrottleIntrospection {
  readonly windows: readonly { readonly policy: Policy; readonly accounts: Accounts }[]
  /** Undefined where the windows are in this process's memory. */
  readonly shared: SharedStore | undefined
  readonly clock: Clock
  /** Undefined where the throttle sheds no load. */
  readonly overload: Overload | undefined
  readonly stalls: StallSharing
}

const introspections = new WeakMap<object, ThrottleIntrospection>()

export function exposeForInspection(throttle: object, introspection: ThrottleIntrospection): void {
  introspections.set(throttle, introspection)
}

/** Undefined where it is no throttle of this package. */
export function introspectionOf(throttle: unknown): ThrottleIntrospection | undefined {
  return typeof throttle === 'function' ? introspections.get(throttle) : undefined
}

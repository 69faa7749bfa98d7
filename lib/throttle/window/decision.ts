import type { InFlight } from './own-figures'
import type { SubjectWindow } from './subject-window'

/** A request in flight. */
export interface Ticket extends InFlight {
  readonly subjectWindow: SubjectWindow
}

/** Why a request is refused: its subject's window is over in `retryAfterUs` at the latest. */
export interface ThrottleRefusal {
  readonly subjectWindow: SubjectWindow
  readonly retryAfterUs: number
}

export type Decision = { readonly ticket: Ticket } | { readonly refusal: ThrottleRefusal }

/** A request that waits for the store. */
export interface Waiter {
  readonly subjectWindow: SubjectWindow
  readonly cost: number
  /** Only a command later than this one can refuse it: an earlier one did not ask for it. */
  readonly after: number
  /** Hears the decision; undefined once it is there. */
  listener: DecisionListener | undefined
}

/** Hears what was decided about one request. */
export interface DecisionListener {
  /** The client has gone: no decision is needed any more. */
  readonly gone: boolean
  decided(decision: Decision): void
}

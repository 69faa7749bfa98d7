import type { InFlight } from './own-figures'
import type { SubjectWindow } from './subject-window'

/** A request in flight. */
export interface Ticket extends InFlight {
  readonly subjectWindow: SubjectWindow
}

/**
 * Why a request is refused:
 * - `spent`: the subject has used up its limit. It ends with the window.
 * - `hold`: the request fits in what is left, but not beside what is held for running requests, and has waited for as
 *   long as it may.
 * - `places`: as `hold`, but too many requests wait already.
 * - `outage`: the store does not answer, and the rest of this process's share is held for running requests.
 */
export type RefusalReason = 'spent' | 'hold' | 'places' | 'outage'

/** A refusal, with the figures it was decided by, in microseconds. */
export interface ThrottleRefusal {
  readonly subjectWindow: SubjectWindow
  readonly reason: RefusalReason
  /** When it is worth asking again, at the latest. */
  readonly retryAfterUs: number
  readonly limitUs: number
  readonly spentUs: number
  /** Held here for requests that run. */
  readonly heldUs: number
  /** How old the other processes' figures are; null where there are none. */
  readonly othersAgeUs: number | null
}

export type Decision = { readonly ticket: Ticket } | { readonly refusal: ThrottleRefusal }

/** How long requests may wait for room beside those that run, and how many of one subject. */
export interface WaitRule {
  /** Microseconds. 0: not at all. */
  readonly maxUs: number
  readonly perSubject: number
}

/** A request that asks to be admitted. Where it has to wait it is asked again for its price, and told what was decided. */
export interface Applicant {
  /** What it is expected to take, in microseconds, by what is known of its subject. It may fall while it waits. */
  price(of: SubjectWindow): number
  readonly limitUs: number
  readonly wait: WaitRule
  /** The client has gone: no decision is needed any more. */
  readonly gone: boolean
  /** It does not fit now and waits for room. */
  waits(): void
  decided(decision: Decision): void
}

/** A request that waits: for the store's answer, or for room beside those that run. */
export interface Waiter {
  readonly subjectWindow: SubjectWindow
  /** Undefined once it is decided, or its client has gone: a waiter may be kept for longer than its request. */
  applicant: Applicant | undefined
  readonly limitUs: number
  /** Its price when it was last asked. */
  cost: number
  /** Only a command later than this one knows of it. */
  readonly after: number
  /** True once an answer that knew of it left it waiting. */
  isConsidered: boolean
  /** When it has waited for as long as it may. */
  readonly until: number
}

/** Waiting requests that were decided. */
export type Answers = readonly (readonly [Waiter, Decision])[]

import type { StoreClock } from './store-clock'

/** The server that keeps a subject's windows, as far as the arithmetic has to know it. */
export interface Shard {
  readonly clock: StoreClock
  /** It does not answer, or there is none: decide alone. */
  readonly isDown: boolean
}

/** What a process knows of one subject's window. Times and sums are whole microseconds of the process's own clock. */
export interface SubjectWindow {
  readonly subject: string
  /** Identifies the subject in the store; nothing can be read from it. */
  readonly id: string
  /** Where this subject's windows begin, so that not everybody's end at once. */
  readonly phase: number
  /** Who keeps its windows; on a Cluster that may change. */
  shard: Shard
  /** The limit that the latest request brought; 0 before the first. */
  limit: number
  /** The window's number; its start and end follow from it. */
  number: number

  /** This process's own: settled time, requests in flight and the sum of their starts, and the hold set aside. */
  spent: number
  running: number
  starts: number
  hold: number
  /** Hold left to each request that was in flight when the window began. */
  carried: number
  /** When this process entered the window, and when its figures last moved. */
  opened: number
  touched: number

  /** The others', as of `asOf`. */
  othersSpent: number
  othersRunning: number
  asOf: number
  /** A short lease on time granted ahead, to admit from memory, and what more was to be had. */
  slack: number
  more: number

  /** The command under way; the newest one answered; the newest one the store is known to hold. */
  sent: Sent | undefined
  heard: number
  acked: number
  waiting: Waiter[]
  /** Figures are not published yet; they are to be published as soon as the command under way is answered. */
  dirty: boolean
  urgent: boolean

  /** All hold ever granted here; the latest request's estimate; the estimates asked since the last tick, and before. */
  granted: number
  unit: number
  demand: number
  lastDemand: number

  /** The subject was put to rest: whoever still holds this standing has to find the new one. */
  left: boolean
}

/** A command under way. */
export interface Sent {
  readonly seq: number
  readonly at: number
  readonly number: number
  readonly granted: number
}

/** A request that waits for the store. */
export interface Waiter {
  readonly standing: SubjectWindow
  readonly cost: number
  /** Only a command later than this one can refuse it: it knew of the request. */
  readonly after: number
  /** Hears the decision; undefined once it is there. */
  listener: Listener | undefined
}

/** Who waits for a decision. */
export interface Listener {
  /** Nobody waits any more: the client has gone away. */
  readonly gone: boolean
  decided(decision: Decision): void
}

/** A request in flight. */
export interface Ticket {
  readonly standing: SubjectWindow
  readonly cost: number
  start: number
  /** The window it was admitted in. */
  readonly number: number
}

/** Why a request is refused: its subject's window is over in `retryAfterUs` at the latest. */
export interface Refusal {
  readonly standing: SubjectWindow
  readonly retryAfterUs: number
}

export type Decision = { readonly ticket: Ticket } | { readonly refusal: Refusal }

/** A standing in which nothing is going on. */
export function subjectWindow(
  subject: string,
  { id, phase }: { readonly id: string; readonly phase: number },
  shard: Shard,
  number: number,
  now: number,
): SubjectWindow {
  return {
    subject,
    id,
    phase,
    shard,
    limit: 0,
    number,
    spent: 0,
    running: 0,
    starts: 0,
    hold: 0,
    carried: 0,
    opened: now,
    touched: now,
    othersSpent: 0,
    othersRunning: 0,
    asOf: -Infinity,
    slack: 0,
    more: 0,
    sent: undefined,
    heard: 0,
    acked: 0,
    waiting: [],
    dirty: false,
    urgent: false,
    granted: 0,
    unit: 0,
    demand: 0,
    lastDemand: 0,
    left: false,
  }
}

/** Time that requests in flight have taken in this window. */
export function accrued(s: SubjectWindow, now: number): number {
  return s.running * now - s.starts
}

/** What this process's admitted requests are still expected to take. */
export function held(s: SubjectWindow, now: number): number {
  return Math.max(0, s.hold - accrued(s, now))
}

/** This process's own spent time, with what runs now. */
export function own(s: SubjectWindow, now: number): number {
  return s.spent + accrued(s, now)
}

/** The subject's spent time over all processes, as far as is known here. */
export function used(s: SubjectWindow, now: number): number {
  return s.othersSpent + own(s, now)
}

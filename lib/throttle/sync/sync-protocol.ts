import type { Engine } from '../window/engine'
import { type Decision, type Sent, type SubjectWindow, type Waiter, held, own } from '../window/subject-window'

/** Holds may exceed what is left by this share of the limit: estimates are no better than that. */
const TOLERANCE = 0.03
/** A subject that is asked for more is granted ahead, by this much more than it took since the last tick. */
const AHEAD = 1.25
/** The store's clock was set back, where the window it names begins later than this from now. */
const SET_BACK_US = 1_000_000

/** What `sync.lua` is asked. Microseconds and counts; `leaseMs` says itself. */
export interface Command {
  /** The subject's name in the store. */
  readonly id: string
  /** The window's number, start and end. */
  readonly number: number
  readonly start: number
  readonly end: number
  readonly seq: number
  /** This process's figures. */
  readonly spent: number
  readonly hold: number
  readonly running: number
  /** Hold that those who wait need, and the size of one of them. */
  readonly want: number
  readonly unit: number
  /** Slack wished for, and slack kept. */
  readonly slice: number
  readonly keep: number
  readonly limit: number
  readonly tolerance: number
  readonly leaseMs: number
}

/** What `sync.lua` answers: the store's time, and the rest where it wrote the command down. */
export interface Reply {
  readonly time: number
  readonly written?: Written
}

/** What the store knows of the others, and what it grants. Microseconds and counts. */
export interface Written {
  readonly othersSpent: number
  readonly othersRunning: number
  /** Slack granted. */
  readonly granted: number
  /** What more is to be had. */
  readonly more: number
  /** Nothing of the subject runs anywhere: one request is admitted though its estimate does not fit. */
  readonly lone: boolean
  /** The number of this process's command that the store held before. */
  readonly found: number
}

/** Those who waited, each with its decision. */
export type Answers = readonly (readonly [Waiter, Decision])[]

/** The next command of a subject: the process's figures, absolute and numbered, and what it asks for. */
export function command(engine: Engine, s: SubjectWindow, now: number): Command {
  engine.enter(s, now)
  if (now - s.asOf > engine.freshUs) s.slack = 0
  s.waiting = s.waiting.filter(present)
  const want = s.waiting.reduce((sum, waiter) => sum + waiter.cost, 0)
  const demanded = s.demand > s.unit ? s.demand - want : 0
  const slice = Math.floor(Math.max(AHEAD * s.lastDemand, demanded))
  s.slack = Math.min(s.slack, slice)
  s.sent = { seq: ++engine.seq, at: now, number: s.number, granted: s.granted }
  s.dirty = s.urgent = false
  s.touched = now
  return {
    id: s.id,
    number: s.number,
    start: engine.calendar.start(s),
    end: engine.calendar.end(s),
    seq: s.sent.seq,
    spent: own(s, now),
    hold: held(s, now),
    running: s.running,
    want,
    unit: s.waiting[0]?.cost ?? s.unit,
    slice,
    keep: s.slack,
    limit: s.limit,
    tolerance: Math.floor(s.limit * TOLERANCE),
    leaseMs: Math.ceil(engine.freshUs / 1_000) + 1,
  }
}

/** What a reply changes: who is decided, and in how many microseconds the subject wants another command, if any. */
export interface Outcome {
  readonly answers: Answers
  readonly againInUs: number | undefined
}

const NOTHING: Outcome = { answers: [], againInUs: undefined }

/** Takes a reply in. It may be late or out of order, and its window over. */
export function take(engine: Engine, s: SubjectWindow, sent: Sent, reply: Reply, now: number): Outcome {
  const { calendar } = engine
  const current = s.sent === sent
  if (current) s.sent = undefined
  s.shard.clock.learn(sent.at, now, reply.time)
  if (sent.seq < s.heard) return NOTHING
  s.heard = sent.seq

  const number = calendar.numberAt(s.phase, reply.time)
  const aheadUs = calendar.start(s) - reply.time
  if (aheadUs > SET_BACK_US) s.number = number // follow the store's clock, figures kept
  engine.enter(s, now, Math.max(number, calendar.number(s, now)))
  if (reply.written === undefined || sent.number !== s.number) {
    s.dirty = true
    engine.look(s)
    const resend = current && (s.waiting.length > 0 || s.running > 0 || s.urgent)
    return { answers: [], againInUs: resend ? Math.max(0, aheadUs) : undefined }
  }

  const { written } = reply
  if (written.found < s.acked) engine.republish(s.shard, now)
  s.acked = sent.seq
  s.asOf = sent.at
  s.othersSpent = written.othersSpent
  s.othersRunning = written.othersRunning
  s.more = written.more
  if (!current) return NOTHING
  s.slack = Math.max(0, written.granted - (s.granted - sent.granted)) // less what was admitted meanwhile
  const answers = decide(engine, s, sent, written.lone, now)
  return { answers, againInUs: s.waiting.length > 0 || s.urgent ? 0 : undefined }
}

function decide(engine: Engine, s: SubjectWindow, sent: Sent, lone: boolean, now: number): Answers {
  const answers: [Waiter, Decision][] = []
  const waiting = s.waiting.filter(present)
  const exceeded = s.othersSpent + own(s, now) > s.limit
  s.waiting = []
  for (const waiter of waiting) {
    const { slack } = s
    if (lone && waiter === waiting[0]) {
      answers.push([waiter, { ticket: engine.begin(s, waiter.cost, now) }])
      s.slack = slack // what was granted to a lone request is its own
    } else if (waiter.cost <= slack && !exceeded) answers.push([waiter, { ticket: engine.begin(s, waiter.cost, now) }])
    else if (waiter.after < sent.seq) answers.push([waiter, { refusal: engine.refusal(s, now) }])
    else s.waiting.push(waiter)
  }
  return answers
}

/** No answer in time: takes the command back, and decides about all who wait without the store. */
export function giveUp(engine: Engine, s: SubjectWindow, now: number): Answers {
  s.sent = undefined
  s.dirty = true
  engine.enter(s, now)
  engine.look(s)
  return s.waiting
    .splice(0)
    .filter(present)
    .map((waiter) => [waiter, engine.decideAlone(waiter, now)])
}

/** What is granted to one whose client has gone is missing to the others until it is given back. */
function present({ listener }: Waiter): boolean {
  return listener?.gone !== true
}

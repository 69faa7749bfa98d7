import type { Decision, Waiter } from '../window/decision'
import type { Engine } from '../window/engine'
import type { Sent, SubjectWindow } from '../window/subject-window'

/** Holds may exceed what is left by this share of the limit: estimates are no better than that. */
const TOLERANCE = 0.03

/** What a process tells the store of one subject's window, and asks of it. Microseconds and counts, but for `leaseMs`. */
export interface SyncCommand {
  /** The subject's name in the store. */
  readonly id: string
  /** The window's number, and when it starts and ends by the store's clock. */
  readonly number: number
  readonly start: number
  readonly end: number
  /** A later command of this process has a higher one. */
  readonly seq: number
  /** This process's own figures, absolute: charged, set aside for what runs, and how many requests run. */
  readonly spent: number
  readonly hold: number
  readonly running: number
  /** What waiting requests need, and what the first of them needs. */
  readonly want: number
  readonly unit: number
  /** Slack wished for ahead of requests, and slack granted before and still wanted. */
  readonly slice: number
  readonly keep: number
  readonly limit: number
  /** How far holds may exceed the limit. */
  readonly tolerance: number
  /** How long slack is reserved. */
  readonly leaseMs: number
}

/** What the store answers. */
export interface SyncReply {
  /** The store's time, in microseconds since 1970. */
  readonly time: number
  /** Undefined where it wrote nothing: the window is not the open one, or a later command was there before. */
  readonly written?: SyncFigures
}

/** What the store knows of the other processes, and what it grants. Microseconds and counts. */
export interface SyncFigures {
  readonly othersSpent: number
  readonly othersRunning: number
  /** Slack granted. */
  readonly granted: number
  /** What more could be granted. */
  readonly more: number
  /** No request of the subject runs anywhere: one is admitted though its estimate does not fit. */
  readonly lone: boolean
  /** The `seq` of this process's command that the store had before; 0 for none. */
  readonly found: number
}

/** Waiting requests that were decided. */
export type Answers = readonly (readonly [Waiter, Decision])[]

/** The subject's next command: the process's figures, absolute and numbered, and what it asks for. */
export function nextCommand(engine: Engine, s: SubjectWindow, now: number): SyncCommand {
  engine.locate(s)
  engine.enter(s, now)
  if (now - s.asOf > engine.freshUs) s.slack.drop()
  const { seq } = s.send(engine.nextSeq(), now)
  const want = s.waiting.reduce((sum, { cost }) => sum + cost, 0)
  const slice = s.slack.wish(want)
  return {
    id: s.id,
    number: s.own.number,
    start: s.start,
    end: s.end,
    seq,
    spent: s.own.total(now),
    hold: s.own.held(now),
    running: s.own.running,
    want,
    unit: s.waiting[0]?.cost ?? s.slack.unit,
    slice,
    keep: s.slack.left,
    limit: s.limit,
    tolerance: Math.floor(s.limit * TOLERANCE),
    leaseMs: Math.ceil(engine.freshUs / 1_000) + 1,
  }
}

/** What a reply changes: which requests are decided, and in how many microseconds another command is needed, if any. */
export interface SyncOutcome {
  readonly answers: Answers
  readonly againInUs: number | undefined
}

const NOTHING: SyncOutcome = { answers: [], againInUs: undefined }

/** Takes a reply in. It may be late or out of order, and its window over. */
export function takeReply(engine: Engine, s: SubjectWindow, sent: Sent, reply: SyncReply, now: number): SyncOutcome {
  const isAwaited = s.unsend(sent)
  s.shard.clock.learn(sent.at, now, reply.time)
  if (!s.isNews(sent)) return NOTHING

  const startsInUs = s.start - reply.time
  if (s.follow(reply.time, now)) engine.markDue(s)
  const { written } = reply
  if (written === undefined || sent.number !== s.own.number) {
    s.markDirty()
    engine.markDue(s)
    const isNeeded = isAwaited && (s.waiting.length > 0 || s.own.running > 0 || s.urgent)
    return { answers: [], againInUs: isNeeded ? Math.max(0, startsInUs) : undefined }
  }

  if (s.hasLost(written.found)) engine.republish(s.shard, now)
  s.hear(sent, written, isAwaited)
  if (!isAwaited) return NOTHING
  const answers = decide(engine, s, sent, written.lone, now)
  return { answers, againInUs: s.waiting.length > 0 || s.urgent ? 0 : undefined }
}

function decide(engine: Engine, s: SubjectWindow, sent: Sent, lone: boolean, now: number): Answers {
  const answers: [Waiter, Decision][] = []
  const isSpent = s.used(now) > s.limit
  const waiting = s.takeWaiting()
  for (const waiter of waiting) {
    const { cost } = waiter
    if (lone && waiter === waiting[0]) answers.push([waiter, { ticket: engine.beginLone(s, cost, now) }])
    else if (cost <= s.slack.left && !isSpent) answers.push([waiter, { ticket: engine.begin(s, cost, now) }])
    else if (waiter.after < sent.seq) answers.push([waiter, { refusal: engine.refusal(s, now) }])
    else s.wait(waiter)
  }
  return answers
}

/** No answer came in time: decides all waiting requests without the store. */
export function giveUp(engine: Engine, s: SubjectWindow, now: number): Answers {
  s.unsend()
  s.markDirty()
  engine.enter(s, now)
  engine.markDue(s)
  return s.takeWaiting().map((waiter) => [waiter, engine.decideAlone(waiter, now)])
}

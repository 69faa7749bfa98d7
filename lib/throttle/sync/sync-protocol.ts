import type { Answers } from '../window/decision'
import type { Engine } from '../window/engine'
import type { OthersFigures, Sent, SubjectWindow } from '../window/subject-window'

/** Holds may exceed what is left by this share of the limit: estimates are no better than that. */
const TOLERANCE = 0.03
/** Slack is wished for where a request is expected to take no more than this part of the limit. */
const LARGE_SHARE = 20

/** How long after its reply was due a command may still take effect: longer than a deadline, for clocks that are off. */
const VALID_US = 500_000

/** What a process tells the store of one subject's window, and asks of it. Whole microseconds where nothing else is said. */
export interface SyncCommand {
  /** The subject's name in the store. */
  readonly id: string
  /** The window's number. */
  readonly number: number
  /** Names this process in this window. */
  readonly process: string
  /** When the window starts and ends, and until when the command may take effect, by the store's clock. */
  readonly starts: number
  readonly ends: number
  readonly validUntil: number
  /** A count: a later command of this process has a higher one. */
  readonly seq: number
  /** The `seq` of the latest command that the store is known to have; 0 for none. */
  readonly stored: number
  /** This process's own figures, absolute: charged, set aside for what runs, and how many requests run. */
  readonly spent: number
  readonly hold: number
  readonly running: number
  /** What waiting requests need, and what the first of them needs. */
  readonly want: number
  readonly unit: number
  /** A request waits for the answer. */
  readonly isAwaited: boolean
  /** Slack wished for ahead of requests, and slack granted before and still wanted. */
  readonly slice: number
  readonly keep: number
  /** The highest limit of those who wait, or the latest request's. */
  readonly limit: number
  /** How far holds may exceed the limit. */
  readonly tolerance: number
  /** For so long at least what is held stands, though nothing is heard of this process. Milliseconds. */
  readonly leaseMs: number
  /** The incarnation of the window's record that this process heard of last, and what ended processes had charged there. */
  readonly incarnation: number
  readonly ended: number
  /** The process ends: its charges are handed over, and none of its commands takes effect from now on. */
  readonly closing: boolean
}

/** What the store answers. */
export interface SyncReply {
  /** The store's time, in microseconds since 1970. */
  readonly time: number
  /** Undefined where it wrote nothing: the window is not the open one, the command was late, or a later one was there. */
  readonly written?: SyncFigures
  /** The record of this subject cannot be read, and why. Others are not concerned. */
  readonly unreadable?: string
}

/** What the store knows of the other processes, and what it grants. Microseconds and counts. */
export interface SyncFigures extends OthersFigures {
  /** No request of the subject runs anywhere: one is admitted though its estimate does not fit. */
  readonly lone: boolean
  /** The `seq` of this process's command that the store had before; 0 for none. */
  readonly found: number
}

/**
 * The subject's next command: the process's figures, absolute and numbered, and what it asks for.
 *
 * @param process names this process in this window
 * @param closing the last command: it hands the charges over and asks for nothing
 */
export function nextCommand(
  engine: Engine,
  s: SubjectWindow,
  process: string,
  now: number,
  closing = false,
): SyncCommand {
  engine.locate(s, now)
  engine.enter(s, now)
  if (now - s.asOf > engine.freshUs) s.slack.drop()
  engine.dropGone(s)
  const { stored, incarnation, ended } = s
  for (const waiter of s.waiting) waiter.cost = Math.min(waiter.applicant?.price(s) ?? 0, waiter.limitUs)
  const asked = s.waiting.reduce((sum, { cost }) => sum + cost, 0)
  const unit = s.waiting[0]?.cost ?? s.slack.unit
  const limit = s.waiting.reduce((most, { limitUs }) => Math.max(most, limitUs), 0) || s.limit
  // No lease on large prices: a few of them would strand the end of a budget in one process.
  const slice = s.slack.wish(limit, unit > limit / LARGE_SHARE)
  const ahead = slice + s.slack.left
  const want = ahead === 0 && isLoneTrifle(s, asked, now) ? 0 : asked
  const { seq } = s.send(engine.nextSeq(), want + ahead > 0, now)
  // Not put together by spreading: V8 takes longer for that than for all the arithmetic of a sync.
  return {
    id: s.id,
    number: s.own.number,
    process,
    starts: s.start,
    ends: s.end,
    validUntil: Math.ceil(s.shard.clock.at(now) + s.shard.clock.error(now) + VALID_US),
    seq,
    stored,
    spent: s.own.total(now),
    hold: s.own.held(now),
    running: s.own.running,
    want,
    unit,
    isAwaited: s.waiting.length > 0,
    slice,
    keep: s.slack.left,
    limit,
    tolerance: Math.floor(limit * TOLERANCE),
    leaseMs: Math.ceil(engine.freshUs / 1_000) + 1,
    incarnation,
    ended,
    closing,
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

  if (reply.unreadable !== undefined) {
    return { answers: isAwaited ? engine.decideWaiting(s, 'alone', now) : [], againInUs: undefined }
  }
  const startsInUs = s.start - reply.time
  if (s.follow(reply.time, now)) engine.markDue(s, now)
  const { written } = reply
  if (written === undefined || sent.number !== s.own.number) {
    s.markDirty()
    engine.markDue(s, now)
    const isNeeded = isAwaited && (s.waiting.length > 0 || s.own.running > 0 || s.urgent)
    return { answers: [], againInUs: isNeeded ? Math.max(0, startsInUs) : undefined }
  }

  engine.answered(s, s.hasLost(written.found), now)
  s.hear(sent, written, isAwaited, now)
  if (!isAwaited) return NOTHING
  if (sent.told !== -Infinity && needsGrant(s, now)) return { answers: [], againInUs: 0 }
  const answers = engine.decideWaiting(s, { seq: sent.seq, lone: written.lone }, now)
  const hasNew = s.waiting.some(({ isConsidered }) => !isConsidered)
  if (s.waiting.length > 0) s.askAgainLater(now)
  return { answers, againInUs: hasNew || s.urgent ? 0 : undefined }
}

/** Only one request waits, and once the store has been told all, nothing need be granted for it. */
function isLoneTrifle(s: SubjectWindow, asked: number, now: number): boolean {
  const [first] = s.waiting
  return (
    first !== undefined && s.waiting.length === 1 && s.own.running === 0 && s.isTrifle(asked, first.limitUs, now, 0)
  )
}

/** Nothing was asked for the first of those who wait: it was taken for a trifle, or came after the command left. */
function needsGrant(s: SubjectWindow, now: number): boolean {
  const [first] = s.waiting
  if (first === undefined || first.cost === 0 || s.used(now) > first.limitUs) return false
  return !s.isTrifle(first.cost, first.limitUs, now)
}

/** No answer came in time: decides all waiting requests without the store. */
export function giveUp(engine: Engine, s: SubjectWindow, now: number): Answers {
  s.unsend()
  s.markDirty()
  engine.enter(s, now)
  engine.markDue(s, now)
  return engine.decideWaiting(s, 'alone', now)
}

import type { TimeLimit } from '../../http/deadline'
import type { Account } from './account'
import type { Hold, OwnFigures, RefusalReason, WaitEnd } from './hold'
import { isSpent, isUnlimited } from './past'
import { isGuess } from './price'

/** `start`: at once. `ask`: the store decides. `wait`: for room. Else it is refused. */
export type Decision = 'start' | 'ask' | 'wait' | RefusalReason

/** A user refused from memory is asked about at least this often. */
const UNHEARD_US = 2_000_000
/** During an outage longer than this a request runs alone whose price is beyond all that was left for everybody. */
const LONG_OUTAGE_US = 1_000_000

/** A request asks for time. Where it says `ask` or `wait`, the request stands in line, and its `heard` is to be set. */
export function admit(hold: Hold<Account>, now: number): Decision | 'gone' {
  const { account } = hold
  const { server, terms } = account
  account.ask(hold, now)
  const decision = decide(account, hold, now)
  server.activate(account)
  if (decision === 'start') account.begin(hold)
  else if (decision !== 'ask' && decision !== 'wait') account.refuse(hold)
  else if (hold.time.isOver) return 'gone'
  else {
    account.join(hold, now)
    terms.lines.add(account)
    if (terms.lines.waiting > MOST_WAITING) makeRoom(terms.lines)
    if (hold.state !== 'waiting') return 'queue'
    if (decision === 'ask') server.ask(account)
  }
  return decision
}

/** A request is let in that reserves nothing, whatever the figures say. */
export function letIn(hold: Hold<Account>): void {
  hold.account.begin(hold, 0)
  hold.account.server.activate(hold.account)
}

/**
 * Lets a request of a dry run in at once, whatever the decision.
 *
 * @param mayWait requests that do not fit would have waited
 * @returns why it would have been refused, or `ask` where the store is to say; undefined where it might have been let in
 */
export function rehearse(hold: Hold<Account>, mayWait: boolean, now: number): RefusalReason | 'ask' | undefined {
  const { account } = hold
  account.ask(hold, now)
  const decision = decide(account, hold, now)
  const isLetIn = decision === 'start' || decision === 'ask' || decision === 'wait'
  account.begin(hold, isLetIn ? undefined : 0)
  account.server.activate(account)
  if (isLetIn) return decision === 'ask' ? 'ask' : undefined
  return mayWait && decision !== 'spent' && decision !== 'overload' ? undefined : decision
}

/** A request has ended: it pays for what it took. */
export function finish(hold: Hold<Account>, now: number): void {
  const { account } = hold
  if (hold.state === 'ended') return
  account.finish(hold, now)
  hold.window.load?.took(hold.time, account.subject, hold.takenUs(now))
  if (account.line.length > 0) serveLine(account, now)
  account.server.ended(account, now)
}

/**
 * Charges a request for time that its stopwatch does not see, and reports it at once. Resolves when the store has it, or
 * does not answer. A rehearsal leaves no strain and no debt.
 */
export function charge(hold: Hold<Account>, us: number, now: number, isRehearsal = false): Promise<void> {
  const account = hold.account.current(now)
  if (isRehearsal) account.rehearse(us, now)
  else account.charge(hold, us, now)
  return account.server.refresh(account)
}

/** Takes back all use of the window, the other processes' too, as far as it is known. Resolves when the store has that. */
export function reset(account: Account, now: number, time?: TimeLimit): Promise<void> {
  account.reset(now)
  serveLine(account, now)
  return account.server.refresh(account, time)
}

/**
 * Decides about a request that comes. In this order: a limit of 0 refuses, and one without a limit passes; a limit of
 * which nothing is left refuses; an overloaded process refuses; a full line refuses; a line is joined; a request that fits
 * starts; any other asks the store, or waits.
 */
export function decide(account: Account, hold: Hold, now: number): Decision {
  const { server, line } = account
  const { limitUs } = hold
  if (limitUs === 0) return 'spent'
  if (isUnlimited(limitUs, account.terms.windowUs)) return 'start'
  if (server.isDown && server.isStarting) return 'wait'
  if (server.isDown && hold.window.wait.needsStore) return 'outage'
  const sums = account.own.at(now)
  const usedUs = account.heard.used + sums.usedUs
  const isDecided = server.isMemory || server.isDown
  const isHeard = isDecided || now - account.heardAt < UNHEARD_US
  if (isSpent(limitUs, usedUs) && isHeard && account.isOpen(now)) return 'spent'
  if (hold.window.load?.refuses(hold.time, account.subject, isGuess(hold.route, account.histories) ? 0 : hold.priceUs))
    return 'overload'
  if (line.length > 0) {
    const { perSubject } = hold.window.wait
    if (perSubject > 0 && isConsidered(account, perSubject)) return 'queue'
    return isDecided || isConsidered(account, 1) ? 'wait' : 'ask'
  }
  if (fits(account, hold, sums, now, server.isDown)) return 'start'
  if (!isDecided) return 'ask'
  if (server.isDown && isShareUsedUp(account, limitUs, sums)) return 'outage'
  return now < hold.waitsUntil ? 'wait' : noRoom(account, hold, usedUs, server.isDown)
}

/** Whether the store, or this process, has considered the first `count` requests that wait. */
function isConsidered(account: Account, count: number): boolean {
  return account.line[count - 1]?.isConsidered === true
}

/**
 * Decides about a request that waits, when time was freed, granted, or has passed.
 *
 * @param before how many wait before it still
 * @param isAlone this process decides without the store
 */
export function decideWaiting(
  account: Account,
  hold: Hold,
  before: number,
  now: number,
  isAlone: boolean,
): 'start' | 'wait' | 'gone' | RefusalReason {
  const { limitUs } = hold
  const { wait } = hold.window
  const { server } = account
  if (hold.time.isOver) return 'gone'
  const sums = account.own.at(now)
  const usedUs = account.heard.used + sums.usedUs
  if (isSpent(limitUs, usedUs) && account.isOpen(now)) return 'spent'
  if (hold === account.line[0] && fits(account, hold, sums, now, isAlone)) return 'start'
  if (!hold.isConsidered && !isAlone) return 'wait'
  if (server.isDown && isShareUsedUp(account, limitUs, sums)) return 'outage'
  if (now >= hold.waitsUntil) return noRoom(account, hold, usedUs, isAlone)
  return before < wait.perSubject ? 'wait' : isAlone ? 'outage' : 'queue'
}

/**
 * Why the store would have refused a request of a dry run, which runs meanwhile, by its newest figures. Undefined where it
 * would not have, or where the request might have waited for room.
 *
 * @param mayWait requests that do not fit wait
 */
export function decideAfterwards(
  account: Account,
  hold: Hold,
  mayWait: boolean,
  now: number,
): RefusalReason | undefined {
  const { limitUs } = hold
  const { own, heard } = account
  const { usedUs: ownUs, heldUs } = own.at(now)
  const usedUs = heard.used + ownUs
  if (isSpent(limitUs, usedUs - hold.takenUs(now))) return 'spent'
  const beside = own.live.length + heard.running - 1
  if (mayWait || beside <= 0) return undefined
  if (!account.hasPlace(hold, usedUs, beside)) return 'concurrency'
  return usedUs + heard.held + heard.aheadOfOthers + heldUs > limitUs ? 'reserved' : undefined
}

function noRoom(account: Account, hold: Hold, usedUs: number, isAlone: boolean): RefusalReason {
  if (isAlone) return 'outage'
  return account.hasPlace(hold, usedUs) ? 'reserved' : 'concurrency'
}

/** Whether a request may start now, by what this process knows or was granted. */
function fits(account: Account, hold: Hold, sums: OwnFigures, now: number, isAlone: boolean): boolean {
  const { server, grant, own, heard } = account
  const { priceUs, limitUs, concurrency } = hold
  const usedUs = heard.used + sums.usedUs
  const isFirst = own.live.length === 0
  if (server.isMemory) {
    if (!account.hasPlace(hold, usedUs)) return false
    const reservedUs = heard.held + heard.aheadOfOthers + sums.heldUs
    return priceUs <= limitUs - usedUs - reservedUs || (isFirst && !isSpent(limitUs, usedUs))
  }
  if (isAlone) return fitsShare(account, hold, sums, now)
  const isGranted = priceUs <= grant.us && grant.places > 0 && now < grant.until
  const isServed = limitUs >= grant.limitUs && concurrency >= grant.concurrency
  return isGranted && isServed && (isFirst || account.hasPlace(hold, usedUs))
}

/**
 * Without the store a process uses no more than its share. While some of it is left, a request with a higher price runs
 * alone: at once where it fits what was left for all processes, else in an outage that is no short one.
 */
function fitsShare(account: Account, hold: Hold, sums: OwnFigures, now: number): boolean {
  const { own, server, heard } = account
  const leftUs = shareLeftUs(account, hold.limitUs, sums)
  if (hold.priceUs <= leftUs) return account.hasPlace(hold, heard.used + sums.usedUs, own.live.length * server.living)
  if (hold.priceUs > hold.limitUs - heard.used - heard.held - sums.usedUs)
    if (!server.isDown || now - server.downSince <= LONG_OUTAGE_US) return false
  return leftUs > 0 && own.live.length === 0
}

/** Rest of this process's share of the time that was left at the last answer of the store. */
function shareLeftUs({ heard, server, ownWhenHeard }: Account, limitUs: number, own: OwnFigures): number {
  const leftThen = limitUs - heard.used - heard.held - ownWhenHeard
  const shareUs = leftThen > 0 ? leftThen / server.living : leftThen
  return shareUs - (own.usedUs + own.heldUs - ownWhenHeard)
}

/** No time is left, and no running request can return any. */
function isShareUsedUp(account: Account, limitUs: number, sums: OwnFigures): boolean {
  return account.own.live.length === 0 && shareLeftUs(account, limitUs, sums) <= 0
}

// --- waiting requests

/** The most requests that wait over all subjects. */
const MOST_WAITING = 4_096

/**
 * Where all lines together are full, the longest line of the block of networks with most of them loses its last request.
 *
 * @param lines accounts in which requests wait
 */
function makeRoom(lines: Iterable<Account>): void {
  const byBlock = new Map<string, { all: number; longest: Account }>()
  let heaviest: { all: number; longest: Account } | undefined
  for (const account of lines) {
    const { block, line } = account
    const sum = byBlock.get(block) ?? { all: 0, longest: account }
    byBlock.set(block, sum)
    sum.all += line.length
    if (line.length > sum.longest.line.length) sum.longest = account
    if (sum.all > (heaviest?.all ?? 0)) heaviest = sum
  }
  const { longest } = heaviest as { longest: Account }
  const last = longest.line.at(-1) as Hold
  longest.leave(longest.line.length - 1, false)
  last.heard?.('queue')
}

/** How long a request that needs the store waits for an answer that comes late; and for the first of a process. */
const LATE_US = 1_000_000
const START_US = 250_000

/** Why this process decides without the store: it is down, it has not answered in time, or it has not written the report. */
export type Alone = 'down' | 'unanswered' | 'unwritten'

/**
 * Decides those who wait, first come, first served, and tells them. To be called when time was freed, granted, or has
 * passed.
 *
 * @param alone undefined where the store's last answer counts
 */
export function serveLine(
  account: Account,
  now: number,
  alone: Alone | undefined = account.server.isDown ? 'down' : undefined,
): void {
  if (account.line.length > 0)
    endSome(account, (hold, before) => {
      const { isConsidered, joinedAt, time } = hold
      const { wait } = hold.window
      const isUnanswered = alone === 'down' || (alone === 'unanswered' && !isConsidered)
      if (isUnanswered && !time.isOver) {
        if (hasTimeForAnswer(account, hold, alone, now)) return 'wait'
        if (wait.needsStore) return 'outage'
      }
      const isLate = !isConsidered && now - joinedAt >= account.server.deadlineUs
      const isAlone = alone === 'unanswered' ? isLate : alone !== undefined
      const end = decideWaiting(account, hold, before, now, isAlone)
      if (end === 'wait' && isAlone) hold.isConsidered = true
      return end
    })
}

/**
 * A request waits shortly for the first answer of a store: a process that starts knows nothing of the others. One that
 * needs the store waits longer, and for answers that come late, too.
 */
function hasTimeForAnswer(
  { server }: Account,
  { joinedAt, window }: Hold,
  alone: 'down' | 'unanswered',
  now: number,
): boolean {
  const { deadlineUs, isStarting } = server
  const { wait } = window
  if (alone === 'unanswered') return wait.needsStore === true && now - joinedAt < Math.max(LATE_US, deadlineUs)
  return isStarting && now - joinedAt < (wait.needsStore ? Math.max(START_US, deadlineUs) : deadlineUs)
}

/** Looks at a line now and then. Returns whether it is to be looked at again. */
export function lookAtLine(account: Account, now: number): boolean {
  if (account.line.length === 0) return false // most lines end with the store's answer
  account.enter(now)
  serveLine(account, now)
  if (account.line.length > 0 && now >= account.askAt) account.server.ask(account)
  return account.line.length > 0
}

/** The throttle is closed: nobody waits any longer. */
export function endLine(account: Account): void {
  endSome(account, () => 'closed')
}

/** @param decide says what becomes of a hold; `before` is the number that stay in line before it */
function endSome(account: Account, decide: (hold: Hold, before: number) => WaitEnd | 'wait'): void {
  const ended: [Hold, WaitEnd][] = []
  for (let before = 0; before < account.line.length;) {
    const hold = account.line[before] as Hold
    const end = decide(hold, before)
    if (end === 'wait') before++
    else {
      account.leave(before, end === 'start')
      ended.push([hold, end])
    }
  }
  for (const [hold, end] of ended) hold.heard?.(end)
}

import { Stopwatch, type TimeState } from '../../lib/http/measure/stopwatch'
import type { Account } from '../../lib/throttle/budget/account'
import { type Hold, HoldRecord, type HoldOwner, type WaitEnd } from '../../lib/throttle/budget/hold'
import type { Budgets } from '../../lib/throttle/budgets'

/** Requests that wait in an account, in order. */
export function waitingOf(account: Account): Hold[] {
  const all: Hold[] = []
  for (let hold = account.firstInLine; hold !== undefined; hold = hold.behind) all.push(hold)
  return all
}

/** Requests that were let in to an account and have not ended. */
export function holdsOf(account: Account): Hold[] {
  const all: Hold[] = []
  for (let hold = account.own.first; hold !== undefined; hold = hold.following) all.push(hold)
  return all
}

/** A request's time that a spec turns. */
export class SpecTime extends Stopwatch {
  change(state: TimeState, at: number): void {
    if (this.state !== 'ended') this.enter(state, at)
  }

  override leaveOut(us: number, now: number): number {
    return super.leaveOut(us, now)
  }
}

/** A request without Express: asks budgets, and does what a spec says. Times in µs. */
export class SpecRequest implements HoldOwner {
  readonly time: SpecTime
  isGone = false
  /** What became of it; undefined while it waits. */
  end: WaitEnd | undefined = undefined
  readonly hold: HoldRecord
  readonly #price: () => number

  constructor(
    readonly budgets: Budgets,
    subject: string,
    now: number,
    { price = (): number => 0, limitUs = 1_000_000, waitUs = 0, clientWaitUs = Infinity } = {},
  ) {
    this.#price = price
    this.time = new SpecTime(now)
    const wait = { maxUs: waitUs, perSubject: 100 }
    this.hold = new HoldRecord(budgets.account(subject, now), this, limitUs, clientWaitUs, wait)
    const decision = budgets.admit(this.hold, now)
    if (decision !== 'ask' && decision !== 'wait') this.end = decision
  }

  get hasBegun(): boolean {
    return this.end === 'start'
  }

  start(now: number): this {
    this.hold.account.enter(now)
    this.time.change('running', now)
    if (this.hold.beforeUs < 0) this.hold.account.run(this.hold, now)
    return this
  }

  awaitClient(now: number): void {
    this.hold.account.enter(now)
    this.time.change('awaitingClient', now)
  }

  finish(now: number): void {
    this.budgets.finish(this.hold, now)
    this.time.change('ended', now)
  }

  priceUs(): number {
    return this.#price()
  }

  waits(): void {
    // it is in one account only
  }

  decided(_hold: HoldRecord, end: WaitEnd): void {
    this.end = end
  }

  waitCounts(at: number): void {
    this.time.change('running', at)
  }

  windowBegan(): void {
    // a wait that counts goes on counting
  }

  overrun(): void {
    // the app does as it likes
  }
}

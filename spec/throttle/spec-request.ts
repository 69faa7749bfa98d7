import { Stopwatch, type TimeState } from '../../lib/http/measure/stopwatch'
import type { Account } from '../../lib/throttle/budget/account'
import { admit, finish } from '../../lib/throttle/budget/decide'
import { Hold, type WaitEnd } from '../../lib/throttle/budget/hold'
import { RoutePrice } from '../../lib/throttle/budget/price'
import type { Accounts } from '../../lib/throttle/store/accounts'

/** Requests that wait in an account, in order. */
export function waitingOf(account: Account): Hold[] {
  return [...account.line]
}

/** Requests that were let in to an account and have not ended. */
export function holdsOf(account: Account): Hold[] {
  return [...account.own.live]
}

/** A route on which each request is expected to take what a spec says. */
export class SpecPrice extends RoutePrice {
  constructor(readonly price: () => number) {
    super()
    this.isKnown = true
    this.subjects = 1
  }

  override us(): number {
    return this.price()
  }
}

/** A request's time that a spec turns. */
export class SpecTime extends Stopwatch {
  isGone = false

  constructor(now: number) {
    super(now)
    this.restart(now)
  }

  override get isOver(): boolean {
    return this.isGone
  }

  change(state: TimeState, at: number): void {
    if (this.state !== 'ended') this.enter(state, at)
  }
}

/** A request without Express: asks budgets, and does what a spec says. Times in µs. */
export class SpecRequest {
  readonly time: SpecTime
  /** What became of it; undefined while it waits. */
  end: WaitEnd | undefined = undefined
  readonly hold: Hold<Account>

  constructor(
    readonly budgets: Accounts,
    subject: string,
    now: number,
    { price = (): number => 0, limitUs = 1_000_000, waitUs = 0, clientWaitUs = Infinity } = {},
  ) {
    this.time = new SpecTime(now)
    const rules = { wait: { maxUs: waitUs, perSubject: 100 } }
    const account = budgets.account(subject, now)
    this.hold = new Hold(account, rules, this.time, new SpecPrice(price), subject, limitUs, clientWaitUs, 32)
    const decision = admit(this.hold, now)
    if (decision !== 'ask' && decision !== 'wait') this.end = decision
    this.hold.heard = (end) => void (this.end = end)
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
    finish(this.hold, now)
    this.time.change('ended', now)
  }
}

import type { Account } from './account'

/** What a hold's owner, the request, is told while it runs. */
export interface HoldOwner {
  /** The wait for the client is excused no longer: its time counts from `at` on, in µs of the process's clock. */
  waitCounts(at: number): void
  /** A window has begun at `at`: a wait for the client that was counted is excused again. */
  windowBegan(at: number): void
  /** Time so far in which the request only waited for its client, and which was counted all the same, in µs. */
  chargedWaitsUs(now: number): number
  /** The subject has used two limits: the request is asked to stop. */
  overrun(): void
}

/** A request that was let in, in one account: the part of its price that it has not used counts against the budget. */
export class Hold {
  /** `parked`: its time stands still. `awaitingClient`: so it does while the app waits for the client, within the cap. */
  state: 'parked' | 'awaitingClient' | 'running' | 'ended' = 'parked'
  /** What is left of the price while the time stands still, in µs. */
  leftUs: number
  /** Time counted before `from`, in µs. */
  tookUs = 0
  /** When its present state began, or the window, if that was later. */
  from = 0
  /** When it is expected to end. Moved on if it runs longer than its price. */
  until = 0
  /** It has used its price, so it holds nothing in the store any more. */
  isBeyondPrice = false
  /** All waits for the client are excused up to this, in µs a window. */
  clientWaitUs = 0
  owner: HoldOwner | undefined
  /** Its place among the account's holds. */
  at = 0

  constructor(
    readonly account: Account,
    readonly priceUs: number,
    readonly limitUs: number,
    /** The window that it was let in to. */
    readonly number: number,
  ) {
    this.leftUs = priceUs
  }

  /** For a request that is not let in. */
  static refused(account: Account, limitUs: number): Hold {
    const hold = new Hold(account, 0, limitUs, account.number)
    hold.state = 'ended'
    return hold
  }

  /** Time counted so far, in µs. */
  takenUs(now: number): number {
    return this.tookUs + (this.state === 'running' ? now - this.from : 0)
  }
}

import type { Server } from './window-clock'

/** Terms of a policy that its accounts follow. */
export interface AccountTerms {
  /** The policy's name; and the name of this process in the policy's records. */
  readonly policy: string
  readonly process: string
  readonly windowUs: number
  /** Time used beyond the limit is the next window's first use. */
  readonly carryOvershoot: boolean
  /** Hears of a subject's total in the window that ends at `ends`, whenever it has changed. Microseconds. */
  readonly total?: (ends: number, beforeUs: number, afterUs: number) => void
}

/**
 * The window of one subject that is open. Its number is ⌊(time + phase) / length⌋ by the store's time and the subject's
 * own phase, so all processes agree on it without asking each other. Times are microseconds; `now` is the process's
 * monotonic clock.
 */
export class SubjectWindow {
  number = 0
  /** The window's start and end, by the store's clock. */
  start = 0
  end = 0

  /**
   * @param id the subject's name in the store; empty without one
   * @param phase where the subject's windows begin
   */
  constructor(
    readonly subject: string,
    readonly id: string,
    readonly phase: number,
    readonly terms: AccountTerms,
    public server: Server,
    now: number,
  ) {
    this.placeAt(server.clock.at(now))
  }

  /** Enters the window that is open at this time of the store. Returns how many windows were passed over. */
  protected placeAt(time: number): number {
    const { windowUs } = this.terms
    const ended = this.number
    this.number = Math.floor((time + this.phase) / windowUs)
    this.start = this.number * windowUs - this.phase
    this.end = this.start + windowUs
    return Math.max(0, this.number - ended - 1)
  }

  /** Whether the window is open for certain. */
  isOpen(now: number): boolean {
    const { clock } = this.server
    return clock.at(now) + clock.error(now) < this.end
  }

  /** In how many µs the window is over for certain. */
  endsInUs(now: number): number {
    const { clock } = this.server
    return Math.max(0, this.end - clock.at(now)) + clock.error(now)
  }
}

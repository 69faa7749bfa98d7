import { type AnswerFigures, GRANT_US, type Report } from './report'

/** Time is granted ahead only for prices of at most a twentieth of the limit. */
const LARGE_PART = 20
/** A subject that comes again within the lease is granted twice its latest price, and one place. */
const STANDING = 2
/** A standing grant keeps time from other processes, so it is only for prices of at most a hundredth of the limit. */
const STANDING_PART = 100

/** Time and places that the store has granted ahead of need, and what requests ask for from tick to tick. */
export class GrantedTime {
  us = 0
  /** Requests that may start from it at once. */
  places = 0
  /** It was asked for under these terms, and serves no lower ones. */
  limitUs = 0
  concurrency = 0
  until = 0
  /** It was granted to a subject that comes now and then: unused, it is left to lapse. */
  isStanding = false
  /** Time asked for since the last tick, and in the tick before that. */
  demandUs = 0
  #latelyUs = 0
  wasAsked = false
  /** The most requests at once since the last tick. */
  #peak = 0
  /** The latest price. */
  #unitUs = 0
  /** When the latest request asked, and whether that was soon after the one before. */
  #askedAt = -Infinity
  #cameSoon = false
  /** The latest request, or the one before it, came soon. A subject that came in a row does so again after a pause. */
  #isRegular = false

  /** A request asks for time. */
  asked(priceUs: number, limitUs: number, now: number): void {
    const comesSoon = this.isRecent(now)
    this.#isRegular = comesSoon || this.#cameSoon
    this.#cameSoon = comesSoon
    this.#askedAt = now
    this.#unitUs = priceUs
    if (priceUs * LARGE_PART <= limitUs) this.demandUs += priceUs
  }

  /** Whether a request asked so lately that another one would make the subject a regular one. */
  isRecent(now: number): boolean {
    return now - this.#askedAt < GRANT_US
  }

  /** A request has started, and takes its part of the grant. */
  started(priceUs: number, live: number): void {
    this.#peak = Math.max(this.#peak, live)
    this.us = Math.max(0, this.us - priceUs)
    this.places = Math.max(0, this.places - 1)
  }

  /** A request has ended: a hot subject's requests start from its grant one after the other, at one command a tick. */
  ended(): void {
    if (this.us > 0) this.places++
  }

  /**
   * Time and places to ask for.
   *
   * @param isHalfFree whether half of the budget and of the places is free
   */
  askAhead(limitUs: number, now: number, isHalfFree: () => boolean): { us: number; places: number } {
    const hotUs = this.#hotUs()
    const us = hotUs === 0 ? this.#standingUs(limitUs, now, isHalfFree) : hotUs
    this.isStanding = hotUs === 0 && us > 0
    return { us, places: hotUs > 0 ? 2 * Math.max(1, this.#peak) : Math.sign(us) }
  }

  /** Time to ask for ahead where requests follow each other from tick to tick. */
  #hotUs(): number {
    return Math.floor(Math.max(1.25 * this.#latelyUs, this.demandUs > this.#unitUs ? 2 * this.demandUs : 0))
  }

  /** Time to ask for ahead where the subject comes again within the lease. */
  #standingUs(limitUs: number, now: number, isHalfFree: () => boolean): number {
    const unitUs = this.#unitUs
    if (!this.#isRegular || !this.isRecent(now) || unitUs * STANDING_PART > limitUs) return 0
    return isHalfFree() ? STANDING * unitUs : 0
  }

  /** What the store answered to a report that was sent then. */
  granted(report: Report, { ahead, places, granted, count }: AnswerFigures, sentAt: number): void {
    this.us = ahead + granted
    this.places = places + count
    this.limitUs = report.limit
    this.concurrency = report.concurrency
    this.until = sentAt + GRANT_US
  }

  /** A tick has passed: how much was asked for, and whether that was more than one request now and then. */
  tick(live: number): void {
    const { demandUs, wasAsked } = this
    this.#latelyUs = demandUs > this.#unitUs || (wasAsked && demandUs > 0) ? demandUs : 0
    this.wasAsked = demandUs > 0
    this.demandUs = 0
    this.#peak = live
  }

  /** Nothing is asked for ahead any more. */
  calm(): void {
    this.demandUs = this.#latelyUs = 0
    this.wasAsked = this.#isRegular = this.#cameSoon = false
    this.drop()
  }

  drop(): void {
    this.us = this.places = 0
  }
}

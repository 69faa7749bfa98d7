import type { AnswerFigures, Report } from './report'
import { NO_STRAIN, type WindowTotals, debtAfter, strainAfter } from './rollover'

/** What earlier windows of a subject left to the present one. */
export class Past {
  /** The subject's overshoot in earlier windows, in hundredths of a limit: it divides the number of places. */
  strain = NO_STRAIN
  /** Overshoot of the last window that counts in this one. */
  carriedUs = 0
  /** The highest limit of requests that ran in this window, or left strain or a debt. */
  highestLimitUs = 0
  /** When the last window ended, the store had not heard all of this process: it may know less of strain and debt. */
  #hasNews = false
  /** Strain and debt were reset here, and the store has not heard so. */
  #isCleared = false

  get isNone(): boolean {
    return this.strain === NO_STRAIN && this.carriedUs === 0
  }

  /** As a report says it. */
  get status(): Report['past'] {
    return this.#isCleared ? 'cleared' : this.#hasNews ? 'news' : 'known'
  }

  /** A request was let in under this limit. */
  ranUnder(limitUs: number): void {
    this.highestLimitUs = Math.max(this.highestLimitUs, limitUs)
  }

  /** A window with these totals is over. @param isUntold the store may lack some of what this process used in it */
  roll(totals: WindowTotals, missed: number, carryOvershoot: boolean, isUntold: boolean): void {
    this.strain = strainAfter(totals, missed)
    this.carriedUs = carryOvershoot ? debtAfter(totals, missed) : 0
    this.#hasNews = !this.isNone && (this.#hasNews || isUntold)
    if (this.isNone) this.highestLimitUs = 0
  }

  reset(): void {
    this.carriedUs = 0
    this.strain = NO_STRAIN
    this.#isCleared = true
    this.#hasNews = false
  }

  /** The store has answered a report. */
  hear({ past }: Report, figures: AnswerFigures): void {
    this.#hasNews = false
    if (past === 'cleared') this.#isCleared = false
    if (this.#isCleared) return
    this.strain = figures.strain
    this.carriedUs = figures.carried
  }
}
